// Writes files as C++ string literals, so that the program carries its rules and target tables.
// usage: md_embed OUT.cpp ROOT FILE...   (each file is named by its path under ROOT)
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

static std::string literal(const std::string& bytes) {
  std::string out = "\"";
  char octal[8];
  for (unsigned char c : bytes) {
    if (c == '\n') {
      out += "\\n\"\n\"";
    } else if (c == '"' || c == '\\' || c == '?') {
      out += '\\', out += static_cast<char>(c);
    } else if (c < 0x20 || c >= 0x7f) {
      std::snprintf(octal, sizeof octal, "\\%03o", c);
      out += octal;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string root = std::string(argv[2]) + "/";
  std::ofstream out(argv[1]);
  out << "#include \"lib/base/embedded.h\"\n\nnamespace md {\nnamespace {\nusing namespace "
         "std::string_view_literals;\n"
         "const EmbeddedFile files[] = {\n";
  for (int i = 3; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "md_embed: cannot read %s\n", argv[i]);
      return 1;
    }
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::string name = argv[i];
    if (name.rfind(root, 0) == 0) name = name.substr(root.size());
    out << "    {\"" << name << "\"sv,\n" << literal(bytes) << "sv},\n";
  }
  out << "    {\"\"sv, \"\"sv}};\n}  // namespace\n\nstd::span<const EmbeddedFile> embedded_files() {\n"
         "  return {files, sizeof files / sizeof *files - 1};\n}\n\n}  // namespace md\n";
  return out.good() ? 0 : 1;
}
