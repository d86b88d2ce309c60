// Whether the levels agree on random pipelines: codes, cycles, and what happens at every channel.
#ifndef KILN_TESTS_TARGETS_DATAFLOW_AGREEMENT_H_
#define KILN_TESTS_TARGETS_DATAFLOW_AGREEMENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/dataflow/isa/pipeline.h"
#include "kiln/targets/interface/accelerator.h"
#include "tests/targets/dataflow/random_pipeline.h"

namespace kiln::dataflow {

// A pipeline, and images for it.
struct RandomProgram {
  uint64_t seed = 0;
  Pipeline pipeline;
  std::vector<std::vector<std::vector<int64_t>>> images;  // [image][source][code]
};

// Returns the program of a seed. Its channels are deep, or have the depths that the compiler sets,
// or less where the cycle level says that the pipeline still does not stop; their memories vary.
// Half of the programs have codes and weights of up to 16 bits, sums of up to 48 bits that leave
// the machine, and pixels of many words.
RandomProgram MakeRandomProgram(uint64_t seed, const RandomPipelineOptions& options,
                                int64_t images);

// What was compared.
struct ProgramTotals {
  int64_t programs = 0, images = 0, codes = 0, words = 0, cycles = 0;
  std::map<std::string_view, int64_t> stages;  // by kind
  ProgramTotals& operator+=(const ProgramTotals& other);
};

// Runs a program at the functional and the cycle level: both give the same codes, and no image
// stops in the cycle level, which counts each word of a channel once. nullopt: so it is; else what
// differs. Adds to `totals`.
std::optional<std::string> FindDisagreement(const RandomProgram& program, ProgramTotals* totals);

// A difference between the hardware and the other levels.
struct RtlDisagreement {
  uint64_t seed = 0;  // of the program
  std::string text;
};

// Builds programs side by side as one hardware and sends their images through it, which are equal
// in number: without stalls, then again with random stalls of probability `stalls` at all streams,
// if that is not 0. Registers begin at random by `seed`. Without stalls the hardware has the
// functional level's codes, and the cycle level's cycles of every image, and at every channel the
// words, the highest level, and the cycles of the first and the last push. With stalls it has the
// codes. Returns the first difference. Errors: the hardware does not build, or it stops.
StatusOr<std::optional<RtlDisagreement>> FindRtlDisagreement(
    std::span<const RandomProgram> programs, double stalls, uint64_t seed, ProgramTotals* totals);

// Builds programs side by side as one hardware behind memory, as many as it has streams for, and
// performs one run of all their images behind each of the memories. The hardware has the functional
// level's codes, and the cycle level's cycles of the run and at every channel but those of weights,
// which are read ahead of the run. Returns the first difference. Errors: as above.
StatusOr<std::optional<std::string>> FindDisagreementBehindMemory(
    std::span<const RandomProgram> programs, std::span<const RtlOptions> memories);

}  // namespace kiln::dataflow

#endif  // KILN_TESTS_TARGETS_DATAFLOW_AGREEMENT_H_
