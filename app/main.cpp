#include <exception>

#include "app/command_line.h"
#include "app/terminal.h"

int main(int argc, char** argv) {
  try {
    return md::app::run_command_line(argc, argv);
  } catch (const std::exception& error) {
    md::app::print_error(std::string("internal error: ") + error.what());
    return 4;
  }
}
