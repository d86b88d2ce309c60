// Emits the hardware of a pipeline as a project (hardware/rtl_project.h): a module with its stages
// and channels, the top module with its buses, and the contents of its memories.
#ifndef KILN_TARGETS_DATAFLOW_EMIT_EMIT_H_
#define KILN_TARGETS_DATAFLOW_EMIT_EMIT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/stream_memory.h"
#include "kiln/support/status.h"
#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

// What the hardware depends on besides the pipeline.
struct EmitOptions {
  std::string name;        // of the design point, for comments
  bool ultrascale = true;  // multipliers of 27 x 18 bits, else 25 x 18
};

// Returns the options of a design point.
EmitOptions EmitOptionsOf(const Config& config);

// Returns the project. `others` of the caller may be added.
hardware::RtlProject ProjectOf(const Pipeline& pipeline, const EmitOptions& options);

// Returns the memory behind the weight streams: the words of each from its base address on. Empty
// without weight streams.
std::vector<uint8_t> WeightMemoryOf(const Pipeline& pipeline);
// Returns how software lets the weight streams read `memory`, the bytes of WeightMemoryOf, which
// must outlive the result.
hardware::PortConstants WeightConstantsOf(const Pipeline& pipeline,
                                          std::span<const uint8_t> memory);

// Returns the beats of a stream: every word of `lanes` codes in whole bytes, little-endian.
std::vector<uint8_t> BeatsOf(const Channel& channel, std::span<const int64_t> codes);
// Returns the codes in beats, which must be whole.
std::vector<int64_t> CodesOfBeats(const Channel& channel, std::span<const uint8_t> beats);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_EMIT_EMIT_H_
