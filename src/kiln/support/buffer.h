// Memory for tensors: aligned for vector kernels, and in large pages where it is large.
#ifndef KILN_SUPPORT_BUFFER_H_
#define KILN_SUPPORT_BUFFER_H_

#include <cstddef>
#include <memory>

namespace kiln {

inline constexpr size_t kBufferAlignment = 64;  // bytes
// Vector kernels may load whole registers past the end: a buffer has this many bytes more.
inline constexpr size_t kBufferSlack = 64;

// Allocate `bytes` bytes and kBufferSlack more, aligned to kBufferAlignment: with unspecified
// contents, and all zero. Return null if the system refuses the memory, and for 2^46 bytes and
// more. A system that promises more memory than it has (overcommit) may end the process later
// instead.
//
// Large buffers are mapped in huge pages where the system has them, and it zeroes a page when it is
// first touched: faults and address translation of small pages cost much of the time in which a
// network with hundreds of millions of weights is compiled.
std::shared_ptr<void> AllocateUninitialised(size_t bytes);
std::shared_ptr<void> AllocateZeroed(size_t bytes);

}  // namespace kiln

#endif  // KILN_SUPPORT_BUFFER_H_
