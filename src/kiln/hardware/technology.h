// From one CMOS node to another, and the area of memories: published figures, for models of area and energy.
#ifndef KILN_HARDWARE_TECHNOLOGY_H_
#define KILN_HARDWARE_TECHNOLOGY_H_

#include <cstdint>
#include <vector>

namespace kiln::hardware {

// Nodes in nanometres, the largest first; those of technology_nodes.def, which names the source.
const std::vector<int>& TechnologyNodes();
bool IsTechnologyNode(int node_nm);

// What an area (an energy) at node `from` is multiplied by at node `to`. Both must be of the table.
double AreaScale(int from_nm, int to_nm);
double EnergyScale(int from_nm, int to_nm);
double SupplyVolts(int node_nm);

// Where they come from, in a line.
inline constexpr const char* kScalingSource =
    "nodes after Stillmaker and Baas (Integration 58, 2017)";

// Area of one on-chip memory of `bits` with a read and a write port, in square micrometres at `node_nm`; 0 for no bits.
//
// At 130 nm: 6.16 um2 a bit, the cell with two ports of SkyWater's process, and 1,630 um2 times the square root of the
// bits for all that stands around the cells. From OpenRAM's macros for that process
// (github.com/VLSIDA/sky130_sram_macros): 6.16 is what their Liberty files state as area, over their bits; with 1,630
// the outlines in the LEF files of the four macros with two ports (32 x 256, 8 x 1024 as 1rw1r and as 1r1w, 32 x 512)
// come out with 9 % error at most. Other nodes: AreaScale.
double MemoryArea(int64_t bits, int node_nm);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_TECHNOLOGY_H_
