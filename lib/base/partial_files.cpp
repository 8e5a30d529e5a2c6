#include "lib/base/partial_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <random>
#include <string_view>

namespace md {
namespace {

constexpr std::size_t kSlots = 128;  // two a model that is worked on
constexpr std::size_t kLongest = 4096;

// Fixed and without locks: a signal handler reads it at any moment.
enum class Use : int { none, filling, noted };
struct Slot {
  std::atomic<Use> use = Use::none;
  std::array<char, kLongest> path;
};
std::array<Slot, kSlots> slots;
std::atomic<int> commits = 0;  ///< guards that live; kEnding once a signal has its effect
constexpr int kEnding = -1;
std::atomic<int> waiting_signal = 0;

/// Nothing while a guard lives: the last one calls this again.
void end_unless_committing() noexcept {
  int none = 0;
  if (!commits.compare_exchange_strong(none, kEnding)) return;
  remove_partial_files();
  const int signal = waiting_signal.load();
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// "out.tflite.4711.x7Gh2k.part": the process and six letters.
constexpr std::string_view kPartEnd = ".part";

/// The process of a temporary file's name behind "PATH."; 0 for other names.
pid_t process_of(std::string_view name) {
  if (!name.ends_with(kPartEnd)) return 0;
  name.remove_suffix(kPartEnd.size());
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || name.size() - dot != 7 || name.find('.', dot + 1) != name.npos)
    return 0;
  pid_t process = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + dot, process);
  return failure == std::errc() && end == name.data() + dot && process > 0 ? process : 0;
}

/// The process is gone, and nobody holds the file's lock (a process of another container is not seen here).
bool is_abandoned(const std::string& file, pid_t process) {
  if (::kill(process, 0) == 0 || errno != ESRCH) return false;
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat info {};
  const bool free = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  ::close(fd);
  return free;
}

std::string random_letters() {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string text;
  for (int i = 0; i < 6; ++i) text += letters[random() % letters.size()];
  return text;
}

/// Where the table is full or the path too long, a signal leaves the file, and the next run removes it.
void note(const std::string& path) {
  if (path.size() >= kLongest) return;
  for (Slot& slot : slots) {
    Use free = Use::none;
    if (!slot.use.compare_exchange_strong(free, Use::filling)) continue;
    std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
    slot.use.store(Use::noted);
    return;
  }
}

}  // namespace

int create_partial_file(const std::string& path, std::string& name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = fmt::format("{}.{}.{}{}", path, ::getpid(), random_letters(), kPartEnd);
    // Noted first: between the file and the note a signal would leave it.
    note(name);
    // Mode 0666: the result gets the mode that any new file would have.
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      ::flock(fd, LOCK_EX | LOCK_NB);  // kept until the file is closed: a later run sees that it is in use
      return fd;
    }
    const int code = errno;
    forget_partial_file(name);
    errno = code;
    if (code != EEXIST && code != EINTR) break;
  }
  name.clear();
  return -1;
}

void forget_partial_file(const std::string& name) {
  for (Slot& slot : slots)
    if (slot.use.load() == Use::noted && name == slot.path.data()) slot.use.store(Use::none);
}

void remove_leftovers(const std::string& path) {
  std::error_code error;
  std::filesystem::path whole(path);
  if (const auto real = std::filesystem::canonical(whole, error); !error) whole = real;
  const std::string start = whole.filename().string() + ".";
  const std::filesystem::path folder = whole.has_parent_path() ? whole.parent_path() : ".";
  std::filesystem::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(start)) continue;
    const pid_t process = process_of(std::string_view(name).substr(start.size()));
    if (process != 0 && is_abandoned(entry->path().string(), process)) ::unlink(entry->path().c_str());
  }
}

void remove_partial_files() noexcept {
  for (Slot& slot : slots)
    if (slot.use.load() == Use::noted) ::unlink(slot.path.data());
}

CommitGuard::CommitGuard() {
  for (int living = commits.load();;) {
    while (living == kEnding) ::pause();  // another thread ends the program
    if (commits.compare_exchange_weak(living, living + 1)) return;
  }
}

CommitGuard::~CommitGuard() {
  if (--commits == 0 && waiting_signal.load() != 0) end_unless_committing();
}

void end_by_signal(int signal) noexcept {
  waiting_signal.store(signal);
  end_unless_committing();
}

}  // namespace md
