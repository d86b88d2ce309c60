// The units of the machine, and the causes for which they wait. The cycle level's trace and the
// RTL's performance counters (docs/systolic.md, "Counters") share this list.
#ifndef KILN_TARGETS_SYSTOLIC_ISA_UNITS_H_
#define KILN_TARGETS_SYSTOLIC_ISA_UNITS_H_

#include <array>

namespace kiln::systolic {

// The units, in the order of Trace::units and of rtl/systolic/kiln_control_pkg.sv.
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

// The causes for which a unit waits.
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
// The name of a unit and the causes for which it waits.
struct UnitInfo {
  const char* name;
  // In the order of the unit's counters, followed by nulls if the unit has fewer causes.
  std::array<const char*, kCauses> causes;
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

#endif  // KILN_TARGETS_SYSTOLIC_ISA_UNITS_H_
