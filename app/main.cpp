#include <exception>
#include <new>

#include "app/command_line.h"
#include "app/terminal.h"
#include "lib/base/signals.h"

int main(int argc, char** argv) {
  md::keep_standard_streams();
  md::install_signal_handlers();
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
