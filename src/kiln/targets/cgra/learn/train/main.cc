// The program kiln-cgra-train, which `kiln cgra train` starts. See learn/protocol.h.

#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "kiln/targets/cgra/learn/train/serve.h"

namespace {

// Reads or writes all bytes. Returns false at the end of the stream.
template <typename Byte, typename Call>
bool Transfer(Byte* bytes, size_t count, const Call& call) {
  while (count > 0) {
    const ssize_t moved = call(bytes, count);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    bytes += moved;
    count -= static_cast<size_t>(moved);
  }
  return true;
}
bool ReadAll(char* bytes, size_t count) {
  return Transfer(bytes, count, [](char* at, size_t n) { return read(STDIN_FILENO, at, n); });
}
bool WriteAll(const char* bytes, size_t count) {
  return Transfer(bytes, count,
                  [](const char* at, size_t n) { return write(STDOUT_FILENO, at, n); });
}

bool Receive(kiln::cgra::Frame* frame) {
  std::string header(kiln::cgra::kFrameHeader, '\0');
  if (!ReadAll(header.data(), header.size())) return false;
  const kiln::StatusOr<uint64_t> length = kiln::cgra::FrameLength(header);
  if (!length.ok()) return false;
  frame->kind = header[0];
  frame->bytes.assign(*length, '\0');
  return ReadAll(frame->bytes.data(), frame->bytes.size());
}
bool Send(const kiln::cgra::Frame& frame) {
  const std::string header = FrameHeader(frame);
  return WriteAll(header.data(), header.size()) && WriteAll(frame.bytes.data(), frame.bytes.size());
}

}  // namespace

int main() { return kiln::cgra::ServeTraining(&Receive, &Send); }
