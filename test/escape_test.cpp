// Nobody's words reach a terminal, a CI command or a spreadsheet raw: the escapes, one output kind each.
#include "lib/base/escape.h"

#include <nlohmann/json.hpp>

#include "lib/op/lexer.h"
#include "lib/op/text.h"
#include "test/catch.h"

namespace md {

TEST_CASE("what can be read stays, what cannot becomes an escape", "[escape]") {
  CHECK(escape_terminal("conv/BiasAdd;relu") == "conv/BiasAdd;relu");
  CHECK(escape_terminal("\u5377\u79ef\u5c42 gr\u00f6\u00dfe \U0001F600") ==
        "\u5377\u79ef\u5c42 gr\u00f6\u00dfe \U0001F600");
  CHECK(escape_terminal("a\x1b[31mb") == "a\\x1b[31mb");
  CHECK(escape_terminal("a\nb\rc\td\x7f") == "a\\nb\\x0dc d\\x7f");
  CHECK(escape_terminal(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(escape_terminal("\u009b31m") == "\\u{9b}31m");
  CHECK(escape_terminal("a\u202eb\u2066\u200b\ufeff\U000e0041") ==
        "a\\u{202e}b\\u{2066}\\u{200b}\\u{feff}\\u{e0041}");
  CHECK(escape_terminal_lines("a\x1b\r\n\u202e\n") == "a\\x1b\n\\u{202e}\n");
}

TEST_CASE("bytes that are not UTF-8 are escaped one by one", "[escape]") {
  CHECK(escape_terminal("\x9b"
                        "31m") == "\\x9b31m");
  CHECK(escape_terminal("\xc0\xaf") == "\\xc0\\xaf");           // overlong
  CHECK(escape_terminal("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(escape_terminal("\xf5\x80\x80\x80") == "\\xf5\\x80\\x80\\x80");
  CHECK(escape_terminal("\xe5\x8d") == "\\xe5\\x8d");  // cut short
  CHECK(escape_terminal("\xe2\x80") == "\\xe2\\x80");
}

TEST_CASE("no line is a workflow command", "[escape]") {
  CHECK(escape_terminal("::set-output name=x::y") == "\\x3a:set-output name=x::y");
  CHECK(escape_terminal("  ::error::x") == "  \\x3a:error::x");
  CHECK(escape_terminal("a ##[error]x ##vso[task.x]") == "a \\x23#[error]x \\x23#vso[task.x]");
  CHECK(escape_terminal("## heading, a::b") == "## heading, a::b");
  CHECK(escape_terminal_lines("a\n::stop-commands::x\n") == "a\n\\x3a:stop-commands::x\n");
  CHECK(escape_workflow_message("50%\n::x") == "50%25%0A\\x3a:x");
  CHECK(escape_workflow_property("a:b,c") == "a%3Ab%2Cc");
}

TEST_CASE("no cell of a table is a formula", "[escape]") {
  CHECK(escape_csv("plain") == "plain");
  CHECK(escape_csv("=1+1") == "\"'=1+1\"");
  CHECK(escape_csv("-x") == "\"'-x\"");
  CHECK(escape_csv(" @x") == "\"' @x\"");
  CHECK(escape_csv("\t=x") == "\"' =x\"");
  CHECK(escape_csv("\uff1dx") == "\"'\uff1dx\"");
  CHECK(escape_csv("a,\"b\"\n") == "\"a,\"\"b\"\"\\n\"");
}

TEST_CASE("markup and Markdown", "[escape]") {
  CHECK(escape_markup("<a href='x'>&\x1b") == "&lt;a href=&#39;x&#39;&gt;&amp;\\x1b");
  CHECK(escape_markdown("a|b [x](y) <b> BATCH_MATMUL *c* @team a@b") ==
        "a\\|b \\[x\\](y) &lt;b> BATCH_MATMUL \\*c\\* @<!-- -->team a@b");
  CHECK(escape_markdown_code("a|b", true) == "`a\\|b`");
  CHECK(escape_markdown_code("a``b`", false) == "``` a``b` ```");
}

TEST_CASE("JSON text holds no unprintable character and reads back the same", "[escape]") {
  const std::string names[] = {"a\u202eb\x7f\u009b\U000e0041", "\u5377\x1b\n", "a ##[error]##vso[x]",
                               "plain"};
  for (const std::string& name : names) {
    const nlohmann::json json = {{"name", name}};
    const std::string text = escape_json(json.dump(2) + "\n");
    CHECK(nlohmann::json::parse(text) == json);
    CHECK(text.find("\u202e") == std::string::npos);
    CHECK(text.find('\x7f') == std::string::npos);
    CHECK(text.find("##") == std::string::npos);
  }
}

TEST_CASE("texts of a printed graph read back, whatever is in them", "[escape][graph]") {
  const std::string names[] = {"a\x1b[31m",    "a\nb\t\"\\x1b\\",       "\u202e\u200b\U000e0041",
                               "\xff\xc0 raw", std::string("nul\0", 4), "\\u{41}\\x41",
                               "\u5377\u79ef"};
  for (const std::string& name : names) {
    const std::string text = md::quoted(name);
    CHECK(escape_unprintable(text) == text);  // nothing in it is left to escape
    Lexer lexer("test", 1, text);
    const Token token = lexer.take();
    CHECK_FALSE(lexer.failed());
    CHECK(token.text == name);
  }
}

}  // namespace md
