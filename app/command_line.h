// The command line: what can be typed, and what is done about it.
#pragma once

namespace md::app {

/// Parses and runs; the exit code of the program.
int run_command_line(int argc, char** argv);

}  // namespace md::app
