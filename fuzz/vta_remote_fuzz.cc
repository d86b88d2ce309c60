// Any bytes as what a client sends to a server of VTA devices: every conversation ends, nothing is written beyond the
// largest message, and every reply is a whole one.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kiln/support/check.h"
#include "kiln/targets/vta/remote_protocol.h"

namespace {

using namespace kiln::vta;  // NOLINT: a program of one file

constexpr const char* kToken = "0123456789abcdef";

// Gives what the fuzzer has made, and looks at what comes back.
class Conversation final : public ByteChannel {
 public:
  explicit Conversation(std::span<const uint8_t> rest) : rest_(rest) {}
  kiln::Status Receive(std::span<uint8_t> bytes, Duration /*most*/) override {
    KILN_CHECK(bytes.size() <= kMaxPayload);
    if (bytes.size() > rest_.size()) return absl::UnavailableError("the connection was closed");
    if (!bytes.empty()) std::memcpy(bytes.data(), rest_.data(), bytes.size());
    rest_ = rest_.subspan(bytes.size());
    return kiln::OkStatus();
  }
  kiln::Status Send(std::span<const uint8_t> bytes, Duration /*most*/) override {
    KILN_CHECK(bytes.size() >= FrameHeader::kBytes);
    const FrameHeader header = FrameHeader::Parse(bytes.first<FrameHeader::kBytes>());
    KILN_CHECK(header.payload == bytes.size() - FrameHeader::kBytes && header.payload <= kMaxPayload);
    return kiln::OkStatus();
  }

 private:
  std::span<const uint8_t> rest_;
};

ServiceSettings SmallService() {
  ServiceSettings service{.token = kToken, .config = {}};
  service.config.name = "fuzz";
  service.config.block_in = service.config.block_out = 4;
  service.config.uop_buffer_bytes = 256;
  service.config.input_buffer_bytes = 256;
  service.config.weight_buffer_bytes = 1024;
  service.config.accumulator_buffer_bytes = 1024;
  service.limits = {.memory_bytes = 1 << 20, .instructions = 64, .steps = 1 << 14};
  return service;
}

std::vector<uint8_t> RightHello(const ServiceSettings& service) {
  FrameWriter hello(static_cast<uint32_t>(RequestKind::kHello));
  hello.Number32(kRemoteMagic);
  hello.Number32(kRemoteVersion);
  hello.Text(service.token);
  hello.Text(SizesOf(service.config));
  return hello.Take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ServiceSettings service = SmallService();
  static const std::vector<uint8_t> hello = RightHello(service);
  if (size == 0) return 0;
  // The first byte says whether the client has shown its token, which no fuzzer guesses.
  std::vector<uint8_t> bytes;
  if (data[0] % 4 != 0) bytes = hello;
  bytes.insert(bytes.end(), data + 1, data + size);
  Conversation conversation(bytes);
  RemoteSession session(service, [] { return kiln::OkStatus(); });
  ServeRequests(conversation, session, {});
  return 0;
}
