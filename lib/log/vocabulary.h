// What the texts of tools mean: which lines are noise of successful runs, which are the failure itself, which
// only report that something failed before. Every entry was seen in a stored log, a public report or the
// tool's source.
#pragma once
#include <string_view>

#include "lib/log/line.h"

namespace md {

/// How much a record says about the cause. Of one load only the strongest class that occurs counts as the
/// failure.
enum class Weight {
  none,   ///< says nothing about a failure
  faint,  ///< a sentence that says what is not or must be; counts only where the text is no more than that
  hint,   ///< plain text with a word of trouble; counts only where nothing else does, in short logs or at the
          ///< end
  echo,   ///< an exit status
  trouble,  ///< plain text that reads like an error; counts only where nothing stronger does
  symptom,  ///< reports that something failed before ("Failed to compile model", crash reports)
  cause     ///< the failure itself
};

/// What one pass over a text finds.
struct Words {
  bool benign = false;   ///< successful runs print it too
  bool missing = false;  ///< so does this, yet where a run fails and nothing else is said it is the cause
  bool detail = false;   ///< a detail that the delegate prints while it looks at a node
  bool symptom = false, cause = false, trouble = false, hint = false, faint = false, echo = false;
  bool refusal = false;      ///< a phrase of the GPU delegate's reasons
  bool begins_load = false;  ///< a new model load begins behind this line
  bool delegate_header = false, delegate_count = false;
  bool classic = false, successor = false;  ///< which of the two GPU delegates speaks, where a text tells
  bool versions = false;                    ///< the name of a package whose version may follow
  std::string_view tool;                    ///< the tool whose name is in the text
};
Words find_words(std::string_view text);

/// Judges a line that is not part of a block or a traceback.
Weight judge(const LogLine& line, const Words& words);
/// Progress lines, rulers and other lines without content.
bool is_noise(std::string_view text);

/// The tool that speaks, by source file, tag and words of the text; "" when unknown.
std::string_view tool_of(const LogLine& line, const Words& words);
/// The tool that a Python file belongs to, by its path; "" when unknown.
std::string_view tool_of_path(std::string_view path);

/// What the function of a frame `File "torch/export/_trace.py", line 3, in f` does; unknown for most.
Stage stage_of_frame(std::string_view frame);
/// What is done in a source file of a tool ("kernels/pad.cc", "method.cpp"); unknown for most.
Stage stage_of_source(std::string_view path);

/// "RESHAPE: Tensor dimensions must be less than 5. x", "CUSTOM Foo: Foo": NAME in capitals, an optional
/// word, a colon. Gives the position behind the colon, or npos.
std::size_t operator_line(std::string_view text);
/// True when operator_line() holds and the name is no status word ("INTERNAL: ...").
bool names_operator(std::string_view text);
/// "RuntimeError: text", "torch.onnx.errors.UnsupportedOperatorError: text", "AssertionError".
bool exception_line(std::string_view text);
/// A command behind a shell's prompt: "$ python a.py", "user@host:~/x$ python a.py", "(env) u@h x % make".
bool is_prompt(std::string_view text);

}  // namespace md
