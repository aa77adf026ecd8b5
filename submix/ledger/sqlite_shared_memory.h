// The index of SQLite's write-ahead log, `-shm`, is memory that is mapped from a file. SQLite
// writes a byte every 4 KB to let the file grow; where blocks are smaller that leaves holes, and
// writing into a hole on a full disk ends the process (SIGBUS). Here all of it is there before
// SQLite has it, or SQLite hears that the disk is full.
#pragma once

namespace submix::ledger {

// The name of the system's files for sqlite3_open_v2, with that done. Before Linux 5.14 it cannot
// be, and the files are SQLite's own. Thread-safe.
const char* FileSystemWithoutHoles();

}  // namespace submix::ledger
