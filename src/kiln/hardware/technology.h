// Scaling of area, energy and delay between CMOS nodes, and the area and access time of memories:
// published figures, for models of area, energy and clocks.
#ifndef KILN_HARDWARE_TECHNOLOGY_H_
#define KILN_HARDWARE_TECHNOLOGY_H_

#include <cstdint>
#include <vector>

namespace kiln::hardware {

// Returns the nodes in the table technology_nodes.def, in nanometres, largest first. The table
// names its source.
const std::vector<int>& TechnologyNodes();
// Returns whether a node is in the table.
bool IsTechnologyNode(int node_nm);

// Return the factor by which an area, an energy or a delay at node `from` is multiplied at node
// `to`. Both nodes must be in the table.
double AreaScale(int from_nm, int to_nm);
double EnergyScale(int from_nm, int to_nm);
double DelayScale(int from_nm, int to_nm);

// The source of the scaling factors, for reports.
inline constexpr const char* kScalingSource =
    "nodes after Stillmaker and Baas (Integration 58, 2017)";

// Returns the area of one on-chip memory of `bits` bits with a read port and a write port, in um2
// at `node_nm`; 0 for no bits.
//
// At 130 nm: 6.16 um2 per bit, the dual-port cell of SkyWater's process, plus 1,630 um2 times the
// square root of the number of bits for the periphery. Both come from OpenRAM's macros for that
// process (github.com/VLSIDA/sky130_sram_macros). 6.16 is the area in their Liberty files divided
// by their bits. With 1,630 the model matches the outlines in the LEF files of the four dual-port
// macros (32 x 256, 8 x 1024 as 1rw1r and as 1r1w, 32 x 512) with at most 9 % error. AreaScale
// scales to other nodes.
double MemoryArea(int64_t bits, int node_nm);

// Returns the time from the clock to the data of an on-chip memory of `bits` bits, in nanoseconds
// at 180 nm; 0 for no bits.
//
// It is 0.85 ns for 8 Kib, which G. M. Sreerama Reddy and P. Chandrasekhara Reddy state of their
// SRAM ("Design and implementation of 8K-bits low power SRAM in 180 nm technology"), and a gate
// delay more for every doubling, as B. S. Amrutur and M. A. Horowitz find up to 1 Mib ("Speed and
// power scaling of SRAM's", IEEE JSSC 35, 2000). A gate delay is 0.095 ns, what an inverter of
// OSU's 0.18 um library takes to drive four others. Memories of few bits take two gate delays at
// least. A memory compiler's macros are slower, by how much its data sheets say.
double MemoryAccessNs(int64_t bits);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_TECHNOLOGY_H_
