// Opening files of every kind, and writing files safely.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "lib/graph/document.h"
#include "lib/op/dialect.h"
#include "test/catch.h"
#include "test/tflite_models.h"

using namespace md;
using namespace md::test;
using namespace std::string_literals;

namespace {

std::string message_for(std::string bytes) {
  const auto document = open_document(MappedFile::from_bytes("file.tflite", std::move(bytes)));
  REQUIRE_FALSE(document);
  return document.error().message;
}

struct Folder {
  std::string path;
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "modeldoctor-XXXXXX";
    path = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

Bytes view(const std::string& s) { return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()}; }

}  // namespace

TEST_CASE("files of known other kinds are named", "[format]") {
  const std::pair<std::string, const char*> kinds[] = {
      {"", "is an empty file"},
      {"\x89PNG\r\n\x1a\n and more", "is a PNG image"},
      {"\xff\xd8\xff\xe0 JFIF", "is a JPEG image"},
      {"\x7f"
       "ELF and more bytes",
       "is an ELF program"},
      {"\x1f\x8b\x08 packed", "is a gzip archive"},
      {"\x89HDF\r\n\x1a\n", "is an HDF5 file"},
      {"{\"a\": 1}", "is a JSON file"},
      {"E0000 something failed\nmore lines\n", "is a text file"},
      {"\xff\xfe"
       "E\0R\0"s,
       "is a text file"},
      {"<!DOCTYPE html><html>", "is an HTML or XML file"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "is a Git LFS pointer"},
      {"\x80\x02}q\x00."s, "is a Python pickle"},
      {"\x93NUMPY\x01\x00"s, "is a NumPy array"},
      {"GGUF\x03\x00\x00\x00"s, "is a GGUF file"},
      {"\x10\x00\x00\x00\x00\x00\x00\x00{\"__metadata__\":{}}"s, "is a safetensors file"},
      {"\x08\x00\x00\x00\x42\x4c\x4f\x42\x01\x02\x03\x04"s, "a flatbuffer of another kind"},
      {"\x01\x02\x03\x04\x05\x00\x01"s, "of no kind this program knows"},
  };
  for (const auto& [bytes, expected] : kinds) {
    const std::string message = message_for(bytes);
    INFO(message);
    REQUIRE(message.find("file.tflite: is ") == 0);
    REQUIRE(message.find(expected) != std::string::npos);
    REQUIRE(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("an ONNX model is recognized by its protobuf fields", "[format]") {
  // ir_version 8, producer_name "pytorch", graph of 2 bytes
  const std::string onnx = "\x08\x08\x12\x07pytorch\x3a\x02\x12\x00"s;
  const auto document = open_document(MappedFile::from_bytes("m.bin", onnx));
  REQUIRE(document);
  CHECK((*document)->model().dialect->name == "onnx");
  CHECK((*document)->model().producer == "pytorch");
}

TEST_CASE("paths that cannot be opened say why", "[format]") {
  const Folder folder;
  const auto message = [](const std::string& path) {
    const auto document = open_document(path);
    REQUIRE_FALSE(document);
    return document.error().message;
  };
  REQUIRE(message(folder.path + "/none.tflite") == folder.path + "/none.tflite: no such file");
  REQUIRE(message(folder.path).find("is a directory") != std::string::npos);
  std::ofstream(folder.path + "/empty.tflite").flush();
  REQUIRE(message(folder.path + "/empty.tflite").find("is an empty file") != std::string::npos);
}

TEST_CASE("an output appears whole or not at all", "[format]") {
  const Folder folder;
  const std::string path = folder.path + "/out.tflite";
  {
    auto sink = AtomicFileSink::create(path);
    REQUIRE(sink);
    REQUIRE((*sink)->append(view("half")));
  }
  REQUIRE(folder.files() == 0);
  const std::string input = make_tflite({});
  std::ofstream(folder.path + "/in.tflite", std::ios::binary) << input;
  const auto document = open_document(folder.path + "/in.tflite");
  REQUIRE(document);
  auto sink = AtomicFileSink::create(path);
  REQUIRE(sink);
  REQUIRE((*document)->write((*document)->model(), **sink));
  REQUIRE((*sink)->flush());
  REQUIRE(read_file((*sink)->temporary_path()) == input);
  REQUIRE_FALSE(std::filesystem::exists(path));
  REQUIRE((*sink)->commit());
  REQUIRE(read_file(path) == input);
  REQUIRE(folder.files() == 2);
  struct stat mode {
  }, usual{};
  REQUIRE(::stat(path.c_str(), &mode) == 0);
  REQUIRE(::stat((folder.path + "/in.tflite").c_str(), &usual) == 0);
  REQUIRE(mode.st_mode == usual.st_mode);
}

TEST_CASE("a range that is not a file's is written from memory", "[format]") {
  const Folder folder;
  const auto file = MappedFile::from_bytes("memory", "0123456789");
  auto sink = AtomicFileSink::create(folder.path + "/x");
  REQUIRE(sink);
  REQUIRE((*sink)->append_range(*file, 3, 4));
  REQUIRE_FALSE((*sink)->append_range(*file, 3, 8));
  REQUIRE((*sink)->commit());
  REQUIRE(read_file(folder.path + "/x") == "3456");
}

TEST_CASE("an output that cannot be written says why", "[format]") {
  const Folder folder;
  const auto message = [](const std::string& path) {
    const auto sink = AtomicFileSink::create(path);
    REQUIRE_FALSE(sink);
    return sink.error().message;
  };
  REQUIRE(message(folder.path + "/no/such/out.tflite").find("does not exist") != std::string::npos);
  REQUIRE(message(folder.path).find("is a directory") != std::string::npos);
  REQUIRE(message("/dev/null").find("not a regular file") != std::string::npos);
  if (::geteuid() != 0) {  // root writes everywhere
    ::chmod(folder.path.c_str(), 0500);
    REQUIRE(message(folder.path + "/out.tflite").find("not writable") != std::string::npos);
    ::chmod(folder.path.c_str(), 0700);
  }
}

TEST_CASE("an output that outgrows the disk leaves nothing", "[format]") {
  const Folder folder;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    auto sink = AtomicFileSink::create(folder.path + "/out");
    REQUIRE(sink);
    rlimit small = before;
    small.rlim_cur = 1000;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    const auto done = (*sink)->append(view(std::string(5000, 'x')));
    ::setrlimit(RLIMIT_FSIZE, &before);
    REQUIRE_FALSE(done);
    REQUIRE(done.error().message.find("no file of this size") != std::string::npos);
  }
  std::signal(SIGXFSZ, handler);
  REQUIRE(folder.files() == 0);
}

TEST_CASE("a link to the output stays a link", "[format]") {
  const Folder folder;
  std::ofstream(folder.path + "/real") << "old";
  std::filesystem::create_symlink("real", folder.path + "/link");
  auto sink = AtomicFileSink::create(folder.path + "/link");
  REQUIRE(sink);
  REQUIRE((*sink)->append(view("new")));
  REQUIRE((*sink)->commit());
  REQUIRE(std::filesystem::is_symlink(folder.path + "/link"));
  REQUIRE(read_file(folder.path + "/real") == "new");
}
