// The vectors of a launch: what the host streams in, and where it puts what comes out.
#ifndef KILN_TARGETS_CGRA_COMPILE_LAUNCH_DATA_H_
#define KILN_TARGETS_CGRA_COMPILE_LAUNCH_DATA_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/targets/cgra/compile/kernel.h"

namespace kiln::cgra {

// The elements of a kernel's buffers, by buffer.
using BufferContents = std::vector<std::vector<int32_t>>;

// Returns the data of a run: for every thread the lanes of every input, in order.
std::vector<int32_t> DataOf(const Launch& launch, int64_t run, int64_t lanes,
                            const BufferContents& contents);

// Stores the results of a run: for every thread from the first that is sent, the lanes of every
// output, in order.
void StoreResults(const Launch& launch, int64_t run, int64_t lanes,
                  std::span<const int32_t> results, BufferContents* contents);

// Returns the number of 32-bit results of one run.
int64_t ResultsOf(const Launch& launch, int64_t lanes);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_LAUNCH_DATA_H_
