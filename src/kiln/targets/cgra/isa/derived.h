// Sizes and times of the machine that no key states, as rtl/cgra has them. Both simulators, the
// closed form of times, the check of programs and the cost model use them.
#ifndef KILN_TARGETS_CGRA_ISA_DERIVED_H_
#define KILN_TARGETS_CGRA_ISA_DERIVED_H_

namespace kiln::cgra {

// Bits of one entry of the configuration memories.
inline constexpr int kSpokeBits = 32, kInstructionBits = 128, kDeliveryBits = 22;
// Entries of the delivery table.
inline constexpr int kDeliveryEntries = 256;
// Free entries that every output queue has at the begin of a period.
inline constexpr int kReservedEntries = 4;
// Clock cycles from the parameter beat of a run to its first fabric cycle.
inline constexpr int kFirstFabricCycle = 3;
// Clock cycles from the last delivery of a thread until the thread has its inputs.
inline constexpr int kDeliveryToReady = 2;
// Clock cycles from the last fabric cycle of an instruction to its result in an output queue.
inline constexpr int kResultToQueueCycles = 4;

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_ISA_DERIVED_H_
