// Starts child processes with posix_spawn and cleans up after them, including after a signal.
//
// Every child leads its own process group, so that one kill() also reaches its descendants. A
// global record (Leftovers) of live children and temporary folders lets the signal thread remove
// both.

#include "kiln/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>

#include "fmt/format.h"
#include "kiln/support/file.h"

extern char** environ;

namespace kiln {
namespace {

// Returns the last 400 bytes of a log on one line, for an error message; "" if it cannot be read.
std::string LastLines(const std::filesystem::path& log) {
  const auto text = ReadFile(log);
  if (!text.ok()) return "";
  constexpr size_t kMost = 400;
  std::string end = text->size() > kMost ? text->substr(text->size() - kMost) : *text;
  for (char& c : end) c = c == '\n' || c == '\t' ? ' ' : c;
  while (!end.empty() && end.back() == ' ') end.pop_back();
  return end;
}

// The resources that must be cleaned up if a signal ends this program.
struct Leftovers {
  std::mutex mutex;  // guards all members
  // Temporary folders, each with the process that created it: a forked child inherits the map, but
  // must not remove its parent's folders.
  std::map<std::filesystem::path, pid_t> folders;
  std::set<pid_t> children;  // started and not yet reaped
  bool ending = false;       // a signal has arrived; no new child may start
};
// Returns the only Leftovers.
Leftovers& TheLeftovers() {
  // Leaked on purpose: threads may use it while static objects are destroyed.
  static auto* const leftovers = new Leftovers;
  return *leftovers;
}

// Blocks forever if this program is being ended by a signal; otherwise returns at once. `lock`
// holds the mutex of Leftovers.
void AwaitEnd(std::unique_lock<std::mutex>& lock) {
  while (TheLeftovers().ending) {
    lock.unlock();
    ::pause();
    lock.lock();
  }
}

// Starts a program as the leader of its own process group and registers it in Leftovers. Returns 0
// or an errno value. The lock spans spawn and registration, so that CleanUp cannot miss a new
// child.
int Start(char* const* argv, char* const* environment, const posix_spawn_file_actions_t* actions,
          pid_t* child) {
  // CleanUpOnSignals has blocked the termination signals; a child must not inherit that mask.
  posix_spawnattr_t attributes;
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::unique_lock lock(TheLeftovers().mutex);
  AwaitEnd(lock);
  const int error = posix_spawnp(child, argv[0], actions, &attributes, argv, environment);
  if (error == 0) TheLeftovers().children.insert(*child);
  lock.unlock();
  posix_spawnattr_destroy(&attributes);
  return error;
}

// Waits until a child exits, kills the rest of its process group, and reaps it. Returns false if
// waitpid fails.
bool Await(pid_t child, int* state) {
  siginfo_t info;
  // WNOWAIT leaves the child as a zombie: until it is reaped, its process group number cannot be
  // reused, so that the kill below cannot hit an unrelated group.
  while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  ::kill(-child, SIGKILL);
  pid_t ended = 0;
  do {
    ended = waitpid(child, state, 0);
  } while (ended < 0 && errno == EINTR);
  std::unique_lock lock(TheLeftovers().mutex);
  TheLeftovers().children.erase(child);
  AwaitEnd(lock);
  return ended == child;
}

// Returns whether a child has exited. Does not reap it, so that its process number is not reused.
bool HasEnded(pid_t child) {
  siginfo_t info;
  info.si_pid = 0;
  const int result = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT | WNOHANG);
  return result != 0 ? errno != EINTR : info.si_pid != 0;
}

// Sends a signal to the process groups of all children and waits up to two seconds for the children
// to exit. Polls their state, because no thread may be in Await for a long-running ChildProcess.
void EndPrograms(int signal) {
  Leftovers& leftovers = TheLeftovers();
  {
    const std::scoped_lock lock(leftovers.mutex);
    for (const pid_t child : leftovers.children) ::kill(-child, signal);
  }
  constexpr int kPatience = 200;  // polls, 10 ms apart
  for (int i = 0; i < kPatience; ++i) {
    {
      const std::scoped_lock lock(leftovers.mutex);
      if (std::ranges::all_of(leftovers.children, HasEnded)) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Removes a folder with its content. Retries for 200 ms, because a killed process may still
// complete its last system call and create a file.
void Remove(const std::filesystem::path& folder) {
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    if (!error) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Ends all children (SIGTERM, then SIGKILL) and removes the temporary folders of this process.
void CleanUp() {
  Leftovers& leftovers = TheLeftovers();
  {
    const std::scoped_lock lock(leftovers.mutex);
    leftovers.ending = true;
  }
  EndPrograms(SIGTERM);
  EndPrograms(SIGKILL);  // children that ignored SIGTERM
  const std::scoped_lock lock(leftovers.mutex);
  for (const auto& [folder, owner] : leftovers.folders) {
    if (owner == ::getpid()) Remove(folder);
  }
}

// Returns this program's environment with TMPDIR replaced.
std::vector<std::string> EnvironmentWith(const std::filesystem::path& temporary) {
  std::vector<std::string> variables = {"TMPDIR=" + temporary.string()};
  for (char** at = environ; *at != nullptr; ++at) {
    if (!std::string_view(*at).starts_with("TMPDIR=")) variables.emplace_back(*at);
  }
  return variables;
}

// Returns pointers to the texts, terminated by a null pointer, as argv and envp are passed to C.
// The pointers are valid as long as `texts`.
std::vector<char*> PointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// An RAII wrapper of posix_spawn_file_actions_t: the redirections of a program to be started.
class Actions {
 public:
  Actions() { posix_spawn_file_actions_init(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Starts a program with an environment and redirections. Errors: it cannot be started.
StatusOr<pid_t> Spawn(const std::vector<std::string>& arguments, char* const* environment,
                      Actions& actions) {
  const std::vector<char*> argv = PointersTo(arguments);
  pid_t child = 0;
  const int error = Start(argv.data(), environment, actions.get(), &child);
  if (error != 0) {
    return ErrorAt("", arguments[0], fmt::format("cannot be started: {}", std::strerror(error)),
                   "install it (tools/setup does)");
  }
  return child;
}

}  // namespace

Status RunProgram(const std::vector<std::string>& arguments, const std::filesystem::path& log,
                  const std::filesystem::path& folder) {
  KILN_ASSIGN_OR_RETURN(const TemporaryFolder temporary, TemporaryFolder::Create("kiln-run"));
  const std::vector<std::string> environment =
      EnvironmentWith(std::filesystem::absolute(temporary.path()));
  Actions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(actions.get(), STDOUT_FILENO, STDERR_FILENO);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(actions.get(), folder.c_str());
  KILN_ASSIGN_OR_RETURN(const pid_t child,
                        Spawn(arguments, PointersTo(environment).data(), actions));
  int state = 0;
  if (!Await(child, &state)) return absl::InternalError(arguments[0] + ": lost");
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return OkStatus();
  const std::string how = WIFSIGNALED(state)
                              ? fmt::format("killed by signal {}", WTERMSIG(state))
                              : fmt::format("ended with code {}", WEXITSTATUS(state));
  return absl::InternalError(fmt::format("{}: {}: ... {}", arguments[0], how, LastLines(log)));
}

StatusOr<ChildProcess> ChildProcess::Start(const std::vector<std::string>& arguments,
                                           const std::filesystem::path& log) {
  // A socket pair rather than two pipes: one descriptor serves both directions, and MSG_NOSIGNAL
  // turns a write to a terminated child into an error instead of SIGPIPE.
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError(fmt::format("{}: {}", arguments[0], std::strerror(errno)));
  }
  Actions actions;
  posix_spawn_file_actions_adddup2(actions.get(), ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const StatusOr<pid_t> child = Spawn(arguments, environ, actions);
  close(ends[1]);
  if (!child.ok()) {
    close(ends[0]);
    return child.status();
  }
  return ChildProcess(arguments[0], log, *child, ends[0]);
}

ChildProcess::~ChildProcess() {
  if (child_ < 0) return;
  close(socket_);
  kill(-child_, SIGKILL);
  int state = 0;
  Await(child_, &state);
}

Status ChildProcess::Send(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return Ended();
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return OkStatus();
}

Status ChildProcess::Receive(std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t received = recv(socket_, bytes.data(), bytes.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return Ended();
    bytes = bytes.subspan(static_cast<size_t>(received));
  }
  return OkStatus();
}

Status ChildProcess::Ended() const {
  return absl::InternalError(fmt::format("{}: has ended: ... {}", name_, LastLines(log_)));
}

StatusOr<TemporaryFolder> TemporaryFolder::Create(const std::string& prefix) {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::temp_directory_path(error);
  if (error) return ErrorAt("", "TMPDIR", error.message(), "name a folder for temporary files");
  std::string name = (root / (prefix + ".XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) {
    return ErrorAt(root.string(), "", std::strerror(errno),
                   "name a folder for temporary files in TMPDIR");
  }
  return TemporaryFolder(name);
}

TemporaryFolder::TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {
  const std::scoped_lock lock(TheLeftovers().mutex);
  TheLeftovers().folders.emplace(path_, ::getpid());
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  const std::scoped_lock lock(TheLeftovers().mutex);
  TheLeftovers().folders.erase(path_);
}

void CleanUpOnSignals() {
  // A file beyond the limit of sizes is an error of the write, not the end of the process.
  signal(SIGXFSZ, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  bool any = false;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction before = {};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    sigaddset(&signals, signal);
    any = true;
  }
  if (!any || pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return;
  // A dedicated thread waits for the signal. Unlike a signal handler it may lock, allocate and
  // remove folders.
  std::thread([signals] {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) return;
    CleanUp();
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    // The signal has its default disposition, so that the exit status reports the signal.
    ::kill(::getpid(), signal);
  }).detach();
}

}  // namespace kiln
