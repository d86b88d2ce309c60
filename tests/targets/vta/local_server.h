// A server of VTA devices on this machine, for tests.
#ifndef TESTS_TARGETS_VTA_LOCAL_SERVER_H_
#define TESTS_TARGETS_VTA_LOCAL_SERVER_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

#include "kiln/net/byte_channel.h"
#include "kiln/targets/vta/runtime/remote_device.h"
#include "kiln/targets/vta/runtime/remote_server.h"

namespace kiln::vta {

inline constexpr const char* kTestToken = "0123456789abcdef";

// Longer than any step of a test takes.
inline constexpr ByteChannel::Duration kLong{20'000};

// Returns the number of files that this process has open, that of the question included.
inline size_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

// On any free port of the loopback interface.
inline std::unique_ptr<RemoteServer> StartLocalServer(ServiceSettings service,
                                                      ServiceTimes times = {}, int machines = 4) {
  service.token = kTestToken;
  auto server =
      RemoteServer::Start({.service = std::move(service), .machines = machines, .times = times});
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

}  // namespace kiln::vta

#endif  // TESTS_TARGETS_VTA_LOCAL_SERVER_H_
