#include "lib/rule/language/datum.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "lib/op/lexer.h"

namespace md {

Datum Datum::of(bool flag) {
  Datum d;
  d.kind = Kind::flag;
  d.flag = flag;
  return d;
}
Datum Datum::of(double number) {
  Datum d;
  d.kind = Kind::number;
  d.number = number;
  return d;
}
Datum Datum::of(std::string text) {
  Datum d;
  d.kind = Kind::text;
  d.text = std::move(text);
  return d;
}
Datum Datum::of(std::vector<double> list) {
  Datum d;
  d.kind = Kind::list;
  d.list_shape = {static_cast<std::int64_t>(list.size())};
  d.list = std::move(list);
  return d;
}
Datum Datum::of(const Shape& shape) { return of(std::vector<double>(shape.begin(), shape.end())); }
Datum Datum::of_value(ValueId id) {
  Datum d;
  d.kind = Kind::value;
  d.value = id;
  return d;
}
Datum Datum::of(NewConstant constant) {
  Datum d;
  d.kind = Kind::constant;
  d.constant = std::make_shared<const NewConstant>(std::move(constant));
  return d;
}

namespace {
std::string number(double v) {
  return std::isfinite(v) && v == std::floor(v) && std::fabs(v) < 1e15 ? fmt::format("{:.0f}", v)
                                                                       : number_text(v);
}
}  // namespace

std::string text_of(const Datum& datum) {
  switch (datum.kind) {
    case Datum::Kind::none:
      return "none";
    case Datum::Kind::flag:
      return datum.flag ? "true" : "false";
    case Datum::Kind::number:
      return number(datum.number);
    case Datum::Kind::text:
      return quoted(datum.text);
    case Datum::Kind::value:
      return "a value";
    case Datum::Kind::record:
      return "a record";
    case Datum::Kind::constant:
      return "a constant";
    case Datum::Kind::list: {
      std::string out = "[";
      for (std::size_t i = 0; i < datum.list.size() && i < 12; ++i)
        out += (i ? ", " : "") + number(datum.list[i]);
      for (std::size_t i = 0; i < datum.texts.size(); ++i) out += (i ? ", " : "") + quoted(datum.texts[i]);
      return out + (datum.list.size() > 12 ? ", ...]" : "]");
    }
  }
  return "";
}

bool same_datum(const Datum& a, const Datum& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Datum::Kind::none:
      return true;
    case Datum::Kind::flag:
      return a.flag == b.flag;
    case Datum::Kind::number:
      return a.number == b.number;
    case Datum::Kind::text:
      return a.text == b.text;
    case Datum::Kind::list:
      return a.list == b.list && a.texts == b.texts;
    case Datum::Kind::value:
      return a.value == b.value;
    case Datum::Kind::record:
      return a.record == b.record;
    case Datum::Kind::constant:
      return a.constant == b.constant;
  }
  return false;
}

}  // namespace md
