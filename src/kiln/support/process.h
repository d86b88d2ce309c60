// Other programs: compilers, simulators, synthesis tools. Each is the leader of a process group of its own, so that
// what it starts in its turn can be ended with it.
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

// Runs a program to its end; arguments[0] is looked up in PATH, no shell comes between. What it prints on both outputs
// goes to the file `log` (made anew); its standard input is empty. What it leaves behind is ended and removed: programs
// that it started, files in the folder that TMPDIR names for it. Errors, which name the program: not there, not
// started, killed by a signal, ended with another code than 0 (with the last lines of the log).
//   folder   where it runs; empty: this program's own. `log` is relative to this program's in any case
Status RunProgram(const std::vector<std::string>& arguments, const std::filesystem::path& log,
                  const std::filesystem::path& folder = {});

// A program that stays, and is talked to through its standard input and output.
class ChildProcess {
 public:
  // What it prints on its error output goes to the file `log` (made anew). Errors: not there, not started.
  static StatusOr<ChildProcess> Start(const std::vector<std::string>& arguments,
                                      const std::filesystem::path& log);
  ChildProcess(ChildProcess&& other) noexcept
      : name_(std::move(other.name_)),
        log_(std::move(other.log_)),
        child_(std::exchange(other.child_, -1)),
        socket_(std::exchange(other.socket_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  // Ends it with all that it has started, whatever they do.
  ~ChildProcess();

  // All of the bytes. Errors: it has ended, with the last lines of its log.
  Status Send(std::span<const uint8_t> bytes);
  Status Receive(std::span<uint8_t> bytes);

 private:
  ChildProcess(std::string name, std::filesystem::path log, int child, int socket)
      : name_(std::move(name)), log_(std::move(log)), child_(child), socket_(socket) {}
  Status Ended() const;

  std::string name_;
  std::filesystem::path log_;
  int child_, socket_;
};

// A folder of its own under the system's folder for temporary files, removed with everything in it at the end.
class TemporaryFolder {
 public:
  static StatusOr<TemporaryFolder> Create(const std::string& prefix);
  explicit TemporaryFolder(std::filesystem::path path);
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// SIGINT, SIGTERM, SIGHUP and SIGQUIT end this program as they would anyway, once the programs that it runs have ended
// (with all that they have started; after two seconds they are killed) and its temporary folders are gone; those that
// are ignored stay so. To be called once, before there are other threads.
void CleanUpOnSignals();

}  // namespace kiln

#endif  // KILN_SUPPORT_PROCESS_H_
