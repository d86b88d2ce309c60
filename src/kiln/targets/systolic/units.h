// The units of the machine, and what is counted of them: the cycle level's trace and the performance counters of the
// RTL (docs/systolic.md, "Counters") have this one list.
#ifndef KILN_TARGETS_SYSTOLIC_UNITS_H_
#define KILN_TARGETS_SYSTOLIC_UNITS_H_

#include <array>

namespace kiln::systolic {

// In the order of Trace::units and of rtl/systolic/kiln_control_pkg.sv.
enum Unit {
  kInputFetch,
  kWeightFetch,
  kWeightLoad,
  kArray,
  kDepthwiseUnit,
  kParameterFetch,
  kVectorUnit,
  kCommandProcessor,
  kUnits
};

// Why a unit waits.
inline constexpr const char* kEarlierInstruction = "earlier instruction";
inline constexpr const char* kInputBankFull = "input bank full";
inline constexpr const char* kWeightBankFull = "weight bank full";
inline constexpr const char* kWeightBankEmpty = "weight bank empty";
inline constexpr const char* kShadowRegistersFull = "shadow registers full";
inline constexpr const char* kInputBankEmpty = "input bank empty";
inline constexpr const char* kNoWeights = "weights";
inline constexpr const char* kAccumulationBankFull = "accumulation bank full";
inline constexpr const char* kOperandPortInUse = "operand port in use";
inline constexpr const char* kParameterBufferFull = "parameter buffer full";
inline constexpr const char* kNoAccumulators = "accumulators";
inline constexpr const char* kNoChannelParameters = "channel parameters";
inline constexpr const char* kNoProgramWord = "next word";
inline constexpr const char* kQueueFull = "queue full";
inline constexpr const char* kStageMemoriesFull = "stage memories full";

inline constexpr int kCauses = 3;
struct UnitInfo {
  const char* name;
  std::array<const char*, kCauses>
      causes;  // in the order of the unit's counters; null: the unit has not so many
};
inline constexpr std::array<UnitInfo, kUnits> kUnitTable = {{
    {"input_fetch", {kEarlierInstruction, kInputBankFull, nullptr}},
    {"weight_fetch", {kEarlierInstruction, kWeightBankFull, nullptr}},
    {"weight_load", {kWeightBankEmpty, kShadowRegistersFull, nullptr}},
    {"array", {kInputBankEmpty, kNoWeights, kAccumulationBankFull}},
    {"depthwise", {kInputBankEmpty, kNoWeights, kAccumulationBankFull}},
    {"parameters", {kOperandPortInUse, kParameterBufferFull, nullptr}},
    {"vector", {kEarlierInstruction, kNoAccumulators, kNoChannelParameters}},
    {"command", {kNoProgramWord, kQueueFull, kStageMemoriesFull}},
}};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_UNITS_H_
