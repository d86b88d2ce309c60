// A two-way stream of bytes with time limits: what a protocol needs of a connection. tcp.h
// implements it with sockets; tests implement it in memory.
#ifndef KILN_NET_BYTE_CHANNEL_H_
#define KILN_NET_BYTE_CHANNEL_H_

#include <chrono>
#include <cstdint>
#include <span>

#include "kiln/support/status.h"

namespace kiln {

// Sends and receives bytes in order.
class ByteChannel {
 public:
  using Duration = std::chrono::milliseconds;
  virtual ~ByteChannel() = default;
  // Fills all of `bytes`. Unavailable: the other side has closed, or is gone. DeadlineExceeded: the
  // bytes did not arrive within `most`.
  virtual Status Receive(std::span<uint8_t> bytes, Duration most) = 0;
  // Sends all of `bytes`; errors as above.
  virtual Status Send(std::span<const uint8_t> bytes, Duration most) = 0;
};

}  // namespace kiln

#endif  // KILN_NET_BYTE_CHANNEL_H_
