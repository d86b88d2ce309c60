// A server of VTA devices on this machine, for tests.
#ifndef TESTS_TARGETS_VTA_LOCAL_SERVER_H_
#define TESTS_TARGETS_VTA_LOCAL_SERVER_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kiln/targets/vta/remote_device.h"
#include "kiln/targets/vta/remote_server.h"

namespace kiln::vta {

inline constexpr const char* kTestToken = "0123456789abcdef";

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
