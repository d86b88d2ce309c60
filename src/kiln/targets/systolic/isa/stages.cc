// Assigns the operations of a vector pass to the machine's stages.
#include "kiln/targets/systolic/isa/stages.h"

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/support/integer.h"

namespace kiln::systolic {
namespace {

constexpr Stage kPassOn{.op = StageOp::kMultiply, .a = Argument::kImmediate, .immediate_a = 1.0f};

std::string DescribeSet(uint32_t stages, const Config& config) {
  stages = config.present_stages(stages);
  if (stages == 0) return "in no stage";
  return fmt::format("in stages {} of {}", fmt::join(SetBits(stages), ", "), config.vector_stages);
}

}  // namespace

bool HasStageFor(StageOp op, int place, const Config& config) {
  if (place >= config.vector_stages) return false;
  const uint32_t stage = uint32_t{1} << place;
  return (!IsFunction(op) || (config.vector_function_stages & stage) != 0) &&
         (!IsDivision(op) || (config.vector_divide_stages & stage) != 0);
}

std::optional<std::vector<Stage>> PlaceStages(std::span<const Stage> stages, const Config& config,
                                              int first) {
  std::vector<Stage> placed;
  int place = first;
  for (const Stage& stage : stages) {
    for (; !HasStageFor(stage.op, place, config); ++place) {
      if (place >= config.vector_stages) return std::nullopt;
      placed.push_back(kPassOn);
    }
    placed.push_back(stage);
    ++place;
  }
  return placed;
}

std::string DescribeStages(const Config& config) {
  return fmt::format("functions are {}, dividers {}",
                     DescribeSet(config.vector_function_stages, config),
                     DescribeSet(config.vector_divide_stages, config));
}

}  // namespace kiln::systolic
