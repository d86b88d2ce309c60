// Starts other programs: compilers, simulators, synthesis tools.
//
// Every child process leads its own process group, so that its descendants are ended with it. A
// child and its temporary files never outlive Kiln, even if a termination signal ends Kiln
// (CleanUpOnSignals).
#ifndef KILN_SUPPORT_PROCESS_H_
#define KILN_SUPPORT_PROCESS_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/status.h"

namespace kiln {

// Runs a program and waits until it exits. arguments[0] is looked up in PATH; no shell is involved.
// Standard input is empty; standard output and standard error are written to the file `log`, which
// is overwritten. Afterwards removes what the program left behind: descendants that still run, and
// files in the private folder that its TMPDIR names. Errors (with the program's name): not found,
// cannot be started, killed by a signal, exit code other than 0 (with the last lines of the log).
//   folder  the working directory of the program; empty: that of this process. `log` is always
//           relative to the working directory of this process.
Status RunProgram(const std::vector<std::string>& arguments, const std::filesystem::path& log,
                  const std::filesystem::path& folder = {});

// A long-running program that communicates through its standard input and output. Ended together
// with its descendants on destruction.
class ChildProcess {
 public:
  // Starts a program. Its standard error is written to the file `log`, which is overwritten.
  // Errors: not found, cannot be started.
  static StatusOr<ChildProcess> Start(const std::vector<std::string>& arguments,
                                      const std::filesystem::path& log);
  ChildProcess(ChildProcess&& other) noexcept
      : name_(std::move(other.name_)),
        log_(std::move(other.log_)),
        child_(std::exchange(other.child_, -1)),
        socket_(std::exchange(other.socket_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  // Kills the program and its descendants with SIGKILL.
  ~ChildProcess();

  // Sends or receives all of `bytes`; blocks until done. Errors: the program has exited (with the
  // last lines of its log).
  Status Send(std::span<const uint8_t> bytes);
  Status Receive(std::span<uint8_t> bytes);

 private:
  ChildProcess(std::string name, std::filesystem::path log, int child, int socket)
      : name_(std::move(name)), log_(std::move(log)), child_(child), socket_(socket) {}
  // Returns the error "has ended" with the last lines of the log.
  Status Ended() const;

  std::string name_;
  std::filesystem::path log_;
  int child_, socket_;  // process number and descriptor; -1 after a move
};

// A new folder under the system's folder for temporary files (TMPDIR), removed with its content on
// destruction.
class TemporaryFolder {
 public:
  // Creates the folder <TMPDIR>/<prefix>.XXXXXX with a unique suffix. Errors: TMPDIR is unusable.
  static StatusOr<TemporaryFolder> Create(const std::string& prefix);
  // Takes ownership of an existing folder.
  explicit TemporaryFolder(std::filesystem::path path);
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Makes SIGINT, SIGTERM, SIGHUP and SIGQUIT clean up before they end this program: children and
// their descendants are ended (killed after two seconds), temporary folders are removed, then the
// signal has its default effect. Signals that are ignored stay ignored. Call this once, before any
// other thread starts: it blocks the signals in the calling thread and in all threads that it
// creates.
void CleanUpOnSignals();

}  // namespace kiln

#endif  // KILN_SUPPORT_PROCESS_H_
