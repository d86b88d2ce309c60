// Soaks `kiln vta serve`: starts the program on 127.0.0.1, makes hostile connections to it beside
// one honest client (tests/targets/vta/soak.h), and prints the outcome of both and of the server.
// No other address is used.
//
//   vta_serve_soak [--connections 100000] [--minutes 10] [--seed 1] [--program build/bin/kiln]
//
// Stops after that many connections or minutes, whichever comes first. The exit code is 1 if the
// honest client lost its session or read a wrong result, if a connection was refused, if the server
// ended, or if it keeps files of closed connections open.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/vta/config/config.h"
#include "tests/targets/vta/soak.h"

namespace kiln::vta {
namespace {

constexpr const char* kToken = "token-of-this-soak";
// The accepting thread prepares the next connection's socket, possibly after the first count of
// open files.
constexpr int64_t kFilesOfNextConnection = 4;

// A `kiln vta serve` process on a free port; it ends with this object.
class Server {
 public:
  explicit Server(const std::string& program) : folder_(*TemporaryFolder::Create("kiln-soak")) {
    const std::filesystem::path token = folder_.path() / "token";
    if (!WriteFile(token, kToken).ok() || chmod(token.c_str(), S_IRUSR | S_IWUSR) != 0) return;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string name = program, file = token.string();
    std::string words[] = {"vta", "serve", "--token-file"};
    char* arguments[] = {name.data(),     words[0].data(), words[1].data(),
                         words[2].data(), file.data(),     nullptr};
    if (posix_spawnp(&process_, program.c_str(), &actions, nullptr, arguments, environ) != 0)
      process_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::string line;  // "listening at 127.0.0.1:PORT"
    for (char c = 0; read(ends[0], &c, 1) == 1 && c != '\n';) line += c;
    close(ends[0]);
    if (const auto place = Endpoint::Parse(line.substr(line.rfind(' ') + 1)); place.ok())
      port_ = place->port;
  }
  ~Server() {
    if (process_ < 0) return;
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const { return port_; }  // 0 if the server did not start
  bool runs() const { return process_ > 0 && waitpid(process_, nullptr, WNOHANG) == 0; }
  // Returns a line of /proc/PID/status, such as "VmHWM".
  std::string Status(const std::string& key) const {
    std::ifstream lines(fmt::format("/proc/{}/status", process_));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(key + ":"))
        return line.substr(line.find_first_not_of(" \t", key.size() + 1));
    }
    return "?";
  }
  int64_t OpenFiles() const {
    std::error_code error;
    const std::filesystem::directory_iterator files(fmt::format("/proc/{}/fd", process_), error);
    return error ? -1 : std::distance(begin(files), end(files));
  }

 private:
  TemporaryFolder folder_;
  pid_t process_ = -1;
  uint16_t port_ = 0;
};

int Main(int argc, char** argv) {
  CLI::App app("Soaks `kiln vta serve` with hostile connections on the loopback interface");
  SoakPlan plan{.connections = 100'000};
  int64_t minutes = 10;
  std::string program = "build/bin/kiln";
  app.add_option("--connections", plan.connections)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--minutes", minutes)->check(CLI::Range(1, 24 * 60))->capture_default_str();
  app.add_option("--seed", plan.seed)->capture_default_str();
  app.add_option("--program", program)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const Server server(program);
  if (server.port() == 0) {
    fmt::print(stderr, "{} vta serve does not start\n", program);
    return 1;
  }
  const int64_t files_before = server.OpenFiles();
  fmt::print("{:<32}{}, {} threads, {} open files\n", "server before", server.Status("VmRSS"),
             server.Status("Threads"), files_before);
  plan.most = std::chrono::minutes(minutes);
  const SoakResults results =
      Soak(server.port(), kToken, *ParseOriginalConfig("{}", "default"), plan);
  for (size_t kind = 0; kind < HostileClients::kKinds; ++kind) {
    fmt::print("{:<32}{}\n", HostileClients::kNames[kind], results.hostile[kind]);
  }
  const HonestResults& honest = results.honest;
  fmt::print("{:<32}{}\n", "not connected within 2 s", results.refused);
  fmt::print("{:<32}{} programs, {} wrong{}\n", "honest client, one session", honest.programs,
             honest.wrong, honest.lost.empty() ? "" : ", lost: " + honest.lost);
  fmt::print("{:<32}{}, {} wrong, in {} attempts\n", "honest client, further sessions",
             honest.sessions, honest.wrong_others, honest.attempts);
  // Wait until the last hostile connections and the honest client are gone, at most the hello's
  // time limit.
  constexpr int kPatience = 200;
  const auto leaked = [&] { return server.OpenFiles() > files_before + kFilesOfNextConnection; };
  for (int i = 0; i < kPatience && leaked(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const bool runs = server.runs();
  fmt::print("{:<32}{}\n", "server", runs ? "runs" : "has ended");
  if (runs) {
    fmt::print("{:<32}{}, peak {}, {} threads, {} open files\n", "server after",
               server.Status("VmRSS"), server.Status("VmHWM"), server.Status("Threads"),
               server.OpenFiles());
  }
  fmt::print("{:<32}{:.1f} s\n", "time", results.seconds);
  const bool is_right =
      honest.lost.empty() && honest.wrong == 0 && honest.wrong_others == 0 && honest.sessions > 0;
  return runs && is_right && results.refused == 0 && !leaked() ? 0 : 1;
}

}  // namespace
}  // namespace kiln::vta

int main(int argc, char** argv) { return kiln::vta::Main(argc, argv); }
