// A device that a server on another computer provides (remote_server.h), seen from the client.
#ifndef KILN_TARGETS_VTA_RUNTIME_REMOTE_DEVICE_H_
#define KILN_TARGETS_VTA_RUNTIME_REMOTE_DEVICE_H_

#include <memory>
#include <string_view>

#include "kiln/net/tcp.h"
#include "kiln/targets/vta/runtime/device.h"

namespace kiln::vta {

// How long a client waits, in milliseconds.
struct ClientTimes {
  ByteChannel::Duration connect{10'000};
  ByteChannel::Duration reply{60'000};  // for all requests except runs
  ByteChannel::Duration run{
      86'400'000};  // TCP's own probes detect a server that is gone earlier than this
};

// Connects to a server, sends the token, and requests a machine of the design point. Errors name
// the server: Unavailable if there is no server or the connection is lost, and otherwise the
// server's error. Once the connection is lost, every further call returns Unavailable: the machine
// and its memory are gone, and a new device must be made.
StatusOr<std::unique_ptr<Device>> MakeRemoteDevice(const Endpoint& server, std::string_view token,
                                                   const Config& config,
                                                   const ClientTimes& times = {});

// Returns the token of this process: KILN_VTA_TOKEN, or the line in the file that
// KILN_VTA_TOKEN_FILE names. Errors: neither is set; the text is not a token.
StatusOr<std::string> TokenOfEnvironment();
// Returns whether the environment names a token, even if it is not a valid one.
bool EnvironmentHasToken();
// Returns the token in the only line of a file. Errors: users other than the owner can read or
// change the file (the message names the chmod that helps); the line is not a token.
StatusOr<std::string> TokenOfFile(const std::string& file);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUNTIME_REMOTE_DEVICE_H_
