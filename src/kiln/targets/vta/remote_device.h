// A device that a server elsewhere gives (remote_server.h).
#ifndef KILN_TARGETS_VTA_REMOTE_DEVICE_H_
#define KILN_TARGETS_VTA_REMOTE_DEVICE_H_

#include <memory>
#include <string_view>

#include "kiln/targets/vta/device.h"
#include "kiln/targets/vta/remote_transport.h"

namespace kiln::vta {

struct ClientTimes {
  ByteChannel::Duration connect{10'000};
  ByteChannel::Duration reply{60'000};  // of everything but runs
  ByteChannel::Duration run{
      86'400'000};  // a server that is gone is noticed sooner, by TCP's own probes
};

// Connects, shows the token, and has a machine of the design point made. Errors name the server. Unavailable: nobody
// there, or the connection was lost - then every further call says so, as the machine is gone with its memory, and
// another device has to be made. Others: what the server says.
StatusOr<std::unique_ptr<Device>> MakeRemoteDevice(const Endpoint& server, std::string_view token,
                                                   const Config& config,
                                                   const ClientTimes& times = {});

// The token of this process: KILN_VTA_TOKEN, or the line in the file that KILN_VTA_TOKEN_FILE names. Errors: neither;
// no token.
StatusOr<std::string> TokenOfEnvironment();
// Whether it names one, be it wrong.
bool EnvironmentHasToken();
// The line in a file. Errors: that others than its owner may read or change, with the chmod that helps; no token.
StatusOr<std::string> TokenOfFile(const std::string& file);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_REMOTE_DEVICE_H_
