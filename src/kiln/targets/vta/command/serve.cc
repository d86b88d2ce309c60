// Collects the settings of the server, starts it and waits.
#include "kiln/targets/vta/command/serve.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>

#include "kiln/command/checks.h"
#include "kiln/targets/vta/command/config_option.h"
#include "kiln/targets/vta/runtime/remote_device.h"
#include "kiln/targets/vta/runtime/remote_server.h"

namespace kiln::cli {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr int64_t kMostMiB = 4095;               // addresses have 32 bits
constexpr uint64_t kMostInstructions = 2 << 20;  // the runtime's own limit
constexpr int kMostIdleMinutes = 24 * 60;
// Open files per connection (its socket, the event queue and timer that serve it, a simulator's
// pipe), and all others.
constexpr rlim_t kFilesOfConnection = 5, kOtherFiles = 256;

// Raises the limit of open files to what `machines` connections need.
//   errors  the system's hard limit is too low
Status AllowOpenFiles(int machines) {
  const rlim_t needed =
      kFilesOfConnection * (static_cast<rlim_t>(machines) + vta::kMostStrangers) + kOtherFiles;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return OkStatus();
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  if (limit.rlim_cur >= needed && setrlimit(RLIMIT_NOFILE, &limit) == 0) return OkStatus();
  return ErrorAt("", "--machines",
                 fmt::format("{} machines need up to {} open files, and {} are allowed", machines,
                             needed, static_cast<uint64_t>(limit.rlim_max)),
                 "raise the limit (ulimit -Hn) or give fewer");
}

}  // namespace

void ServeCommand::Declare(CLI::App& app) {
  app.add_option("--device", device_, "What runs the programs: functional, cycle or rtl")
      ->check(CLI::IsMember({"functional", "cycle", "rtl"}))
      ->type_name("NAME")
      ->capture_default_str();
  DeclareVtaConfig(app, &config_, ". Clients with other sizes are refused");
  app.add_option("--port", port_, "TCP port; 0: any that is free, which is printed")
      ->check(InRange(0, 65535))
      ->type_name("P")
      ->capture_default_str();
  app.add_option("--bind", address_,
                 "Address to listen at; what goes over the network is not encrypted")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option(
         "--token-file", token_file_,
         "File whose one line clients have to show; without: KILN_VTA_TOKEN of the environment")
      ->type_name("FILE");
  app.add_option("--machines", machines_, "Clients at once, each with a machine of its own")
      ->check(InRange(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--memory", memory_mib_, "Memory of a machine in MiB")
      ->check(InRange(1, kMostMiB))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--idle", idle_minutes_,
                 "Minutes between two requests after which a client loses its machine")
      ->check(InRange(1, kMostIdleMinutes))
      ->type_name("N")
      ->capture_default_str();
  DeclareVtaSteps(app, &most_steps_);
  app.footer(
      "Clients name it remote:HOST:PORT and have the token in KILN_VTA_TOKEN, or a file with it in "
      "KILN_VTA_TOKEN_FILE.\nExample:\n  kiln vta serve --on vta_config.json --port 9091 "
      "--token-file token");
}

Status ServeCommand::Run(Context& context) const {
  vta::ServerSettings settings;
  KILN_ASSIGN_OR_RETURN(settings.service.config, vta::FindConfig(config_));
  if (token_file_.empty() && !vta::EnvironmentHasToken()) {
    return ErrorAt("", "--token-file", "clients have to show a token, and there is none to show",
                   "name a file with one, or set KILN_VTA_TOKEN, or KILN_VTA_TOKEN_FILE to a file");
  }
  KILN_ASSIGN_OR_RETURN(settings.service.token, token_file_.empty()
                                                    ? vta::TokenOfEnvironment()
                                                    : vta::TokenOfFile(token_file_));
  settings.service.device = device_;
  settings.service.limits = {
      .memory_bytes = memory_mib_ * kMiB, .instructions = kMostInstructions, .steps = most_steps_};
  settings.address = address_;
  settings.port = static_cast<uint16_t>(port_);
  settings.machines = machines_;
  // A client that is idle for longer loses its machine to others.
  settings.times.between = std::chrono::minutes(idle_minutes_);
  KILN_RETURN_IF_ERROR(AllowOpenFiles(machines_));
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<vta::RemoteServer> server,
                        vta::RemoteServer::Start(settings));
  if (!server->is_loopback()) {
    context.err << "kiln: note: token and data go over the network as they are; beyond a network "
                   "of your own, use a "
                   "tunnel to a loopback address\n";
  }
  context.out << fmt::format("listening at {}\n", server->local().ToString()) << std::flush;
  server->Wait();
  return absl::UnavailableError("the server listens no more");
}

}  // namespace kiln::cli
