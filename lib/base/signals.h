// What a program (not a library inside somebody else's) does about signals and its standard streams.
#pragma once

namespace md {

/// SIGINT, SIGTERM and SIGHUP (unless ignored, as under nohup) remove unfinished files and end the program as
/// they always do. A mapped file that became shorter ends it with one line and exit code 2. Full disks, file
/// limits and readers that went away are failed writes. Call once, before any thread.
void install_signal_handlers();

/// Standard streams that the caller closed are opened again, so that no file of ours gets their number:
/// reading gives nothing, writing to standard output fails.
void keep_standard_streams();

}  // namespace md
