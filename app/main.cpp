#include <csignal>
#include <exception>
#include <new>

#include "app/command_line.h"
#include "app/terminal.h"

int main(int argc, char** argv) {
  std::signal(SIGXFSZ,
              SIG_IGN);  // a file past its limit is a failed write with a message, not the end of the program
  try {
    return md::app::run_command_line(argc, argv);
  } catch (const std::bad_alloc&) {
    md::app::print_error("not enough memory for this file");
    return 2;
  } catch (const std::exception& error) {
    md::app::print_error(std::string("internal error: ") + error.what());
    return 4;
  }
}
