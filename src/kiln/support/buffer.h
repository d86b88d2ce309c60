// Memory for tensors: aligned for vector kernels, and in large pages where it is large.
#ifndef KILN_SUPPORT_BUFFER_H_
#define KILN_SUPPORT_BUFFER_H_

#include <cstddef>
#include <memory>

namespace kiln {

inline constexpr size_t kBufferAlignment = 64;  // bytes
// Vector kernels may load whole registers past the end: a buffer has this many bytes more.
inline constexpr size_t kBufferSlack = 64;

// Allocates `bytes` bytes and kBufferSlack more, aligned to kBufferAlignment, all zero. Returns
// null if the system refuses the memory, and for 2^46 bytes and more. A system that promises more
// memory than it has (overcommit) may end the process later instead.
//
// Pages of large buffers are zeroed by the system when they are first touched, not here, and the
// system is asked for huge pages: faults and address translation of small ones cost much of the
// time in which a network with hundreds of millions of weights is compiled.
std::shared_ptr<void> AllocateZeroed(size_t bytes);

}  // namespace kiln

#endif  // KILN_SUPPORT_BUFFER_H_
