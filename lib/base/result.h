// Errors that come from the user's files or command line are values: Result<T> holds a T or an Error.
// Programming errors are asserts. No exception crosses lib/.
#pragma once
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace md {

struct Error {
  enum class Kind {
    usage,        ///< the command line or the configuration
    input,        ///< unreadable or malformed file; the message names the file and the offset or line
    unsupported,  ///< well-formed, but this program cannot do what was asked
    check,        ///< the written file failed its re-opening or its check
    internal
  };
  Kind kind = Kind::input;
  std::string message;  ///< one line for people: which file, where, what was expected, what to do
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(Error::Kind kind, std::string message) {
  return tl::make_unexpected(Error{kind, std::move(message)});
}
inline tl::unexpected<Error> input_error(std::string message) {
  return fail(Error::Kind::input, std::move(message));
}
inline tl::unexpected<Error> usage_error(std::string message) {
  return fail(Error::Kind::usage, std::move(message));
}

}  // namespace md
