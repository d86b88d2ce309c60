#include "kiln/support/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "fmt/format.h"
#include "kiln/support/file.h"

extern char** environ;

namespace kiln {
namespace {

// The end of what a program printed, for an error message of one line.
std::string LastLines(const std::filesystem::path& log) {
  const auto text = ReadFile(log);
  if (!text.ok()) return "";
  constexpr size_t kMost = 400;
  std::string end = text->size() > kMost ? text->substr(text->size() - kMost) : *text;
  for (char& c : end) c = c == '\n' || c == '\t' ? ' ' : c;
  while (!end.empty() && end.back() == ' ') end.pop_back();
  return end;
}

// Files of a program to be started.
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

}  // namespace

Status RunProgram(const std::vector<std::string>& arguments, const std::filesystem::path& log) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  Actions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(actions.get(), STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, argv[0], actions.get(), nullptr, argv.data(), environ); error != 0) {
    return ErrorAt("", arguments[0], fmt::format("cannot be started: {}", std::strerror(error)),
                   "install it (tools/setup does)");
  }
  int state = 0;
  while (waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) return absl::InternalError(arguments[0] + ": lost");
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return OkStatus();
  const std::string how = WIFSIGNALED(state) ? fmt::format("killed by signal {}", WTERMSIG(state))
                                             : fmt::format("ended with code {}", WEXITSTATUS(state));
  return absl::InternalError(fmt::format("{}: {}: ... {}", arguments[0], how, LastLines(log)));
}

StatusOr<TemporaryFolder> TemporaryFolder::Create(const std::string& prefix) {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::temp_directory_path(error);
  if (error) return ErrorAt("", "TMPDIR", error.message(), "name a folder for temporary files");
  std::string name = (root / (prefix + ".XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) {
    return ErrorAt(root.string(), "", std::strerror(errno), "name a folder for temporary files in TMPDIR");
  }
  return TemporaryFolder(name);
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace kiln
