#include "lib/report/shown.h"

#include <type_traits>

#include "lib/base/escape.h"
#include "lib/report/fields.h"

namespace md::reporters {
namespace {

/// Every text among the fields; what is no text has nothing to escape.
class Escaper {
 public:
  template <class T>
  using Of = T;

  template <class T>
  void field(std::string_view, T& value, How how = kPlain, std::string_view = "") {
    escape(value, how);
  }
  void constant(std::string_view, std::string_view, std::string_view = "") {}
  template <class T>
  void nullable(std::string_view, T&, bool, std::string_view = "") {}
  template <class T, class Set>
  void computed(std::string_view, bool, const T&, const Set&, std::string_view = "") {}
  template <class Fields>
  void object(std::string_view, How, bool, const Fields& nested) {
    nested(*this);
  }

 private:
  void escape(std::string& text, How how) {
    text = how & kLines ? escape_terminal_lines(text) : escape_terminal(text);
  }
  template <class T>
  void escape(std::vector<T>& values, How how) {
    for (T& value : values) escape(value, how);
  }
  template <class T>
  void escape(std::optional<T>& value, How how) {
    if (value) escape(*value, how);
  }
  template <class T>
  void escape(T& value, How) {
    if constexpr (!kDefinition<T>.empty()) fields(*this, value);
  }
};

}  // namespace

Diagnosis shown(Diagnosis run) {
  Escaper escaper;
  fields(escaper, run);
  for (std::string& path : run.log_paths) path = escape_terminal(path);  // no field of the JSON
  return run;
}

}  // namespace md::reporters
