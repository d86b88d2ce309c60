// Resources of stages and channels in an FPGA, without synthesis: DSP slices and memory blocks from
// the structure of the hardware, LUTs from a model that is fitted to synthesised stages
// (docs/dataflow.md has its errors).
#ifndef KILN_TARGETS_DATAFLOW_COST_FPGA_MODEL_H_
#define KILN_TARGETS_DATAFLOW_COST_FPGA_MODEL_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

struct FpgaResources {
  int64_t dsp = 0;
  int64_t ramb18 = 0;  // halves of a RAMB36
  int64_t uram = 0;
  int64_t lut = 0;
  FpgaResources& operator+=(const FpgaResources& more) {
    dsp += more.dsp;
    ramb18 += more.ramb18;
    uram += more.uram;
    lut += more.lut;
    return *this;
  }
};

// Return what a stage takes between the channels of a pipeline, and what a channel takes. Weights
// and constants of the stage may be absent: only their widths count.
FpgaResources ResourcesOf(const Pipeline& pipeline, const Stage& stage, bool ultrascale);
FpgaResources ResourcesOf(const Channel& channel);
// Returns the sum over a pipeline, with its control registers.
FpgaResources ResourcesOf(const Pipeline& pipeline, bool ultrascale);

// Return the part of the resources that follows from the structure: DSP slices and memories, those
// of LUTs included.
FpgaResources CountedResourcesOf(const Pipeline& pipeline, const Stage& stage, bool ultrascale);
FpgaResources CountedResourcesOf(const Channel& channel);

// Return the quantities that the other LUTs of a stage and of a channel are proportional to.
// bench/dataflow_resources fits their coefficients to tests/data/dataflow/unit_resources.csv.
inline constexpr int kLutFeatures = 15;
using LutFeatures = std::array<double, kLutFeatures>;
//   counted  the stage's CountedResourcesOf, for any FPGA
LutFeatures LutFeaturesOf(const Pipeline& pipeline, const Stage& stage,
                          const FpgaResources& counted);
LutFeatures LutFeaturesOf(const Channel& channel);
// Returns the LUTs of a stage or channel with these features.
int64_t FittedLuts(const LutFeatures& features);
// Returns the names of the features.
std::array<std::string_view, kLutFeatures> LutFeatureNames();

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COST_FPGA_MODEL_H_
