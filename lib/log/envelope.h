// Failures come in shapes that each tool has of its own: what such a message says besides its words.
#pragma once
#include <string>
#include <string_view>

#include "lib/log/log.h"

namespace md {

/// Fills tool, stage, operator, node, condition, status, source and the decisive line of a failing record
/// from its message, as far as they are empty there. Looks at the first 16,384 bytes only.
void read_envelopes(Record& record);

/// One parser a shape. Each looks for its own mark and leaves a record without it alone.
namespace envelope {
void read_tflite(std::string_view message,
                 Record& record);  ///< kernels/pad.cc:55 A != B (1 != 2), nodes, delegates
void read_onnxruntime(std::string_view message, Record& record);  ///< [ONNXRuntimeError] : 9 : NAME : text
void read_tensorrt(std::string_view message,
                   Record& record);  ///< In node 3 (importX): KIND: text, Error Code 4
void read_executorch(std::string_view message, Record& record);  ///< status numbers, Vulkan and QNN
void read_python(std::string_view message, Record& record);  ///< exceptions by their class, MLIR's loc(...)
void read_java(std::string_view message, Record& record);    ///< causes of Java exceptions, Gradle
}  // namespace envelope

/// "a is 1, expected 2" for `a != 2 (1 != 2)`; "`cond` does not hold" for other conditions; "" for an empty
/// one.
std::string condition_words(std::string_view condition);

/// The text from `begin` on up to the first of `stops`, or all of it.
std::string_view up_to(std::string_view text, std::string_view stops);
/// The text behind the first `mark`; empty where it is not there.
std::string_view behind(std::string_view text, std::string_view mark);
/// The line of `text` that holds position `at`, without blanks around it.
std::string_view line_at(std::string_view text, std::size_t at);

}  // namespace md
