// The service that vta_remote_fuzz talks to, and the hello message that it accepts. fuzz/seeds.cc
// uses them to write conversations that get past the hello.
#ifndef FUZZ_VTA_REMOTE_SERVICE_H_
#define FUZZ_VTA_REMOTE_SERVICE_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/vta/runtime/remote_protocol.h"

namespace kiln::vta {

// Returns a service with a small machine and low limits, so that sessions stay short.
inline ServiceSettings SmallService() {
  ServiceSettings service{.token = "0123456789abcdef", .config = {}};
  service.config.name = "fuzz";
  service.config.block_in = service.config.block_out = 4;
  service.config.uop_buffer_bytes = 256;
  service.config.input_buffer_bytes = 256;
  service.config.weight_buffer_bytes = 1024;
  service.config.accumulator_buffer_bytes = 1024;
  service.limits = {.memory_bytes = 1 << 20, .instructions = 64, .steps = 1 << 14};
  return service;
}

// Returns the hello message that the service accepts, token included.
inline std::vector<uint8_t> RightHello(const ServiceSettings& service) {
  FrameWriter hello(static_cast<uint32_t>(RequestKind::kHello));
  hello.Number32(kRemoteMagic);
  hello.Number32(kRemoteVersion);
  hello.Text(service.token);
  hello.Text(SizesOf(service.config));
  return hello.Take();
}

}  // namespace kiln::vta

#endif  // FUZZ_VTA_REMOTE_SERVICE_H_
