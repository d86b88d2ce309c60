// The client of a remote device: sends each call of the Device interface as a request to a server,
// and reads tokens from the environment or from files.

#include "kiln/targets/vta/runtime/remote_device.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/file.h"
#include "kiln/targets/vta/runtime/remote_protocol.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

// Returns the status code of a reply. Numbers that are not absl codes are an error of the server.
StatusCode CodeOf(uint32_t kind) {
  return kind <= static_cast<uint32_t>(StatusCode::kUnauthenticated) ? static_cast<StatusCode>(kind)
                                                                     : StatusCode::kUnknown;
}

class RemoteDevice final : public Device {
 public:
  RemoteDevice(const Config& config, std::string server, std::unique_ptr<ByteChannel> channel,
               const ClientTimes& times)
      : config_(config), server_(std::move(server)), times_(times), channel_(std::move(channel)) {}

  Status Hello(std::string_view token) {
    FrameWriter request = Request(RequestKind::kHello);
    request.Number32(kRemoteMagic);
    request.Number32(kRemoteVersion);
    request.Text(token);
    request.Text(SizesOf(config_));
    KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> result, Ask(request, times_.reply));
    PayloadReader reader(result);
    const uint32_t version = reader.Number32();
    reader.Text();  // skips the device's name on the server
    if (!reader.all_read() || version != kRemoteVersion)
      return Lost("it answers with something else");
    return OkStatus();
  }

  const Config& config() const override { return config_; }

  StatusOr<uint64_t> Allocate(uint64_t bytes) override {
    FrameWriter request = Request(RequestKind::kAllocate);
    request.Number64(bytes);
    KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> result, Ask(request, times_.reply));
    PayloadReader reader(result);
    const uint64_t address = reader.Number64();
    if (!reader.all_read()) return Lost("it answers with something else");
    return address;
  }
  Status Free(uint64_t address) override {
    FrameWriter request = Request(RequestKind::kFree);
    request.Number64(address);
    return Ask(request, times_.reply).status();
  }
  Status Write(uint64_t address, std::span<const uint8_t> bytes) override {
    do {
      const size_t count = std::min<size_t>(bytes.size(), kMaxData);
      FrameWriter request = Request(RequestKind::kWrite);
      request.Number64(address);
      request.Bytes(bytes.first(count));
      KILN_RETURN_IF_ERROR(Ask(request, times_.reply).status());
      address += count;
      bytes = bytes.subspan(count);
    } while (!bytes.empty());
    return OkStatus();
  }
  Status Read(uint64_t address, std::span<uint8_t> bytes) override {
    do {
      const size_t count = std::min<size_t>(bytes.size(), kMaxData);
      FrameWriter request = Request(RequestKind::kRead);
      request.Number64(address);
      request.Number32(static_cast<uint32_t>(count));
      KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> result, Ask(request, times_.reply));
      if (result.size() != count) return Lost("it answers with something else");
      std::copy(result.begin(), result.end(), bytes.begin());
      address += count;
      bytes = bytes.subspan(count);
    } while (!bytes.empty());
    return OkStatus();
  }
  uint8_t* HostPointer(uint64_t /*address*/) override { return nullptr; }

  Status Run(uint64_t address, size_t count, uint64_t wait_cycles) override {
    FrameWriter request = Request(RequestKind::kRun);
    request.Number64(address);
    request.Number64(count);
    request.Number64(wait_cycles);
    time_.reset();
    KILN_ASSIGN_OR_RETURN(const std::vector<uint8_t> result, Ask(request, times_.run));
    if (result.empty()) return OkStatus();
    PayloadReader reader(result);
    RunTime time{.cycles = reader.Number64(), .counters = {}};
    const uint32_t counters = reader.Number32();
    for (uint32_t i = 0; i < counters && reader.ok(); ++i) {
      const uint64_t value = reader.Number64();
      if (i < kCounters) time.counters[static_cast<Counter>(i)] = value;
    }
    if (!reader.all_read()) return Lost("it answers with something else");
    time_ = time;
    return OkStatus();
  }
  std::optional<RunTime> last_run() const override { return time_; }

 private:
  static FrameWriter Request(RequestKind kind) { return FrameWriter(static_cast<uint32_t>(kind)); }

  // Sends a request, waits up to `most` for the reply, and returns the reply's payload or its
  // error.
  StatusOr<std::vector<uint8_t>> Ask(FrameWriter& request, ByteChannel::Duration most) {
    if (!lost_.ok()) return lost_;
    const Status sent = channel_->Send(request.Take(), times_.reply);
    std::array<uint8_t, FrameHeader::kBytes> bytes;
    if (const Status status = sent.ok() ? channel_->Receive(bytes, most) : sent; !status.ok()) {
      return Lost(MessageOf(status));
    }
    const FrameHeader header = FrameHeader::Parse(bytes);
    if (header.payload > kMaxPayload) return Lost("it answers with something else");
    std::vector<uint8_t> payload(header.payload);
    if (const Status status = channel_->Receive(payload, times_.reply); !status.ok())
      return Lost(MessageOf(status));
    const StatusCode code = CodeOf(header.kind);
    if (code == StatusCode::kOk) return payload;
    const std::string message =
        fmt::format("{}: {}", server_, std::string(payload.begin(), payload.end()));
    return Status(static_cast<absl::StatusCode>(code), message);
  }
  Status Lost(const std::string& why) {
    channel_.reset();
    lost_ = absl::UnavailableError(
        fmt::format("{}: the device is lost with its memory: {}; connect again", server_, why));
    return lost_;
  }

  const Config config_;
  const std::string server_;
  const ClientTimes times_;
  std::unique_ptr<ByteChannel> channel_;
  Status lost_ = OkStatus();
  std::optional<RunTime> time_;
};

}  // namespace

StatusOr<std::unique_ptr<Device>> MakeRemoteDevice(const Endpoint& server, std::string_view token,
                                                   const Config& config, const ClientTimes& times) {
  KILN_RETURN_IF_ERROR(CheckToken(token));
  auto channel = TcpChannel::Connect(server, times.connect);
  if (!channel.ok()) return WithContext(server.ToString(), channel.status());
  auto device =
      std::make_unique<RemoteDevice>(config, server.ToString(), *std::move(channel), times);
  KILN_RETURN_IF_ERROR(device->Hello(token));
  return device;
}

StatusOr<std::string> TokenOfFile(const std::string& file) {
  KILN_ASSIGN_OR_RETURN(std::string token, ReadFile(file, uint64_t{1} << 16));
  // Like ssh does for keys, refuses files that others can access. Something other than a regular
  // file, such as a shell's <(...), cannot be opened by others by name.
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (const auto mode = static_cast<unsigned>(status.permissions());
      fs::is_regular_file(status) && (mode & 077) != 0) {
    return ErrorAt(file, "",
                   fmt::format("a token that others may read or change (mode {:04o})", mode),
                   fmt::format("chmod 600 {}", file));
  }
  if (token.ends_with('\n')) token.pop_back();
  return CheckToken(token).ok()
             ? StatusOr<std::string>(token)
             : ErrorAt(file, "", MessageOf(CheckToken(token)), "one line, the token");
}

bool EnvironmentHasToken() {
  return std::getenv("KILN_VTA_TOKEN") != nullptr || std::getenv("KILN_VTA_TOKEN_FILE") != nullptr;
}

StatusOr<std::string> TokenOfEnvironment() {
  if (const char* token = std::getenv("KILN_VTA_TOKEN"); token != nullptr) {
    KILN_RETURN_IF_ERROR(WithContext("KILN_VTA_TOKEN", CheckToken(token)));
    return std::string(token);
  }
  if (const char* file = std::getenv("KILN_VTA_TOKEN_FILE"); file != nullptr)
    return TokenOfFile(file);
  return ErrorAt("", "", "a remote device asks for a token",
                 "set KILN_VTA_TOKEN, or KILN_VTA_TOKEN_FILE to a file");
}

}  // namespace kiln::vta
