// Files that are written under a temporary name: a signal that ends the program must not leave them behind,
// and no signal may come between two renames that belong together.
#pragma once
#include <string>

namespace md {

/// Creates a file of a new name beside `path`, and notes it: a signal that ends the program removes it.
/// Returns its descriptor and sets `name`, or -1 with the reason in errno.
int create_partial_file(const std::string& path, std::string& name);
/// The file has its final name, or is gone.
void forget_partial_file(const std::string& name);
/// Removes what killed runs left of this kind for `path`. The files of processes that run stay.
void remove_leftovers(const std::string& path);
/// Unlinks every noted file. Async-signal-safe.
void remove_partial_files() noexcept;

/// While one lives, a signal that was caught by end_by_signal waits.
class CommitGuard {
 public:
  CommitGuard();
  ~CommitGuard();
  CommitGuard(const CommitGuard&) = delete;
  CommitGuard& operator=(const CommitGuard&) = delete;
};

/// For handlers of signals that end the program: removes the noted files and lets the signal have its usual
/// effect, now or when the last CommitGuard is gone. Async-signal-safe.
void end_by_signal(int signal) noexcept;

}  // namespace md
