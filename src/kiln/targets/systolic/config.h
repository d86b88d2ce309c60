// A design point of the systolic family: a weight-stationary array with its buffers, a vector unit and a depthwise unit
// (after Voyager, arXiv 2509.15205). Every field has one name in YAML, here and in the RTL to come.
//
// Units, and who feeds whom (bounded queues; a buffer bank is handed over whole):
//
//   memory ─▶ input fetch ──▶ input banks ──▶ array ──▶ accumulation banks ──▶ vector unit ──▶ output writer ─▶ memory
//   memory ─▶ weight fetch ─▶ weight banks ────┘                                ▲   ▲
//   memory ─▶ operand fetch ────────────────────────────────────────────────────┘   │
//   memory ─▶ input fetch ──▶ depthwise banks ─▶ depthwise unit ────────────────────┘
#ifndef KILN_TARGETS_SYSTOLIC_CONFIG_H_
#define KILN_TARGETS_SYSTOLIC_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/hardware/axi_port.h"
#include "kiln/numerics/format.h"
#include "kiln/support/status.h"

namespace kiln::systolic {

struct UserUnitEntry;  // user_unit.h

// Of operand_buffer_words: room is looked at a cycle later and the last word keeps its place until it has been read;
// the RTL numbers places in a byte.
inline constexpr int kLeastOperandBuffer = 4, kMostOperandBuffer = 256;
// Widths of AXI4 data buses, in bytes, and the least memory_latency but for what a port itself takes: a memory that
// answers two cycles after the address.
inline constexpr int kLeastPort = 8, kMostPort = 128;
inline constexpr int kMostDepthwiseWords = 16;  // of depthwise_words_per_cycle
// Of vector_stages, and a set of stages that holds every one.
inline constexpr int kMostVectorStages = 12;
inline constexpr uint32_t kEveryStage = (uint32_t{1} << kMostVectorStages) - 1;
inline constexpr int kLeastAnswer = 2;
inline constexpr int kLeastMemoryLatency = kAxiPortLatency + kLeastAnswer;

// A multiply-accumulate of the array chooses among so many pairs of operand formats at most (Config::precisions).
inline constexpr int kMostPrecisions = 4;

struct OperandFormats {
  Format input, weight;
  friend bool operator==(const OperandFormats&, const OperandFormats&) = default;
};

struct Config {
  std::string name;

  // Array. Rows hold the reduction (input channels and taps), columns the output channels.
  int array_rows = 16;
  int array_columns = 16;
  int weight_rows_per_cycle =
      1;  // rows of weights shifted into the shadow registers a cycle; divides array_rows

  // Numbers. What a multiply-accumulate computes, to the bit, is said in numerics/mac.h; docs/systolic.md says where.
  Format input_format = *FindFormat("int8");   // codes of activations in the array
  Format weight_format = *FindFormat("int8");  // codes of weights
  // Further pairs, of which a matrix instruction may choose one in place of the first (Instruction::precision; the
  // first is precision 0): every element of the array then has a multiply-accumulate for each. They share psum_format
  // and accumulation_format; codes of all inputs take as many bytes in memory, codes of all weights likewise. The
  // depthwise unit and block scales take the first pair.
  std::vector<OperandFormats> other_precisions;
  // `product: exact` (fused multiply-add in psum_format) or `rounded` (the product is rounded to psum_format first).
  bool product_rounded = false;
  // Of the sum that runs down the rows of the array, over one row tile; absent: int32 where both operands are
  // integers in the sense of mac.h, else bf16.
  Format psum_format = *FindFormat("int32");
  // Of the accumulation buffer, where row tiles are added; absent: int32 over an integer psum without block scales,
  // else fp32.
  Format accumulation_format = *FindFormat("int32");
  // Sums in a quire: psums are exact, without block scales from the first row tile to the last; the accumulation buffer
  // holds quires, and psum_format, which must be no integer, is not used.
  bool quire = false;
  // Of the vector unit: every result of a stage is rounded to it, and values that have no codes stand in memory in it.
  // Any signed float that fp32 holds, nearest even. Narrower than fp32, a fused multiply-add is a product and a sum.
  Format vector_format = *FindFormat("fp32");
  // Microscaling: elements along the reduction that share a scale; 0: no such scales. A multiple of array_rows.
  int block_size = 0;
  Format scale_format = *FindFormat("e8m0");  // of those scales

  // Buffers, in words a bank. An input word is array_rows codes; a weight word array_columns codes (one row of a tile);
  // an accumulation word array_columns accumulators. Input and weight buffers have two banks each.
  int input_buffer_words = 1024;
  int weight_buffer_words = 1024;
  int accumulation_buffer_words = 1024;
  int accumulation_buffer_banks =
      2;  // 1: the array waits while the vector unit drains; 2: they overlap

  // Vector unit: array_columns lanes, one word (lanes elements) a cycle at best.
  int vector_stages =
      12;  // programmable stages in a row; each costs vector_stage_latency cycles of depth
  int vector_stage_latency = 4;  // cycles
  // Which stages, of the lanes as of what rows are reduced to, have the approximate functions (reciprocals among them)
  // and a divider: bit i for stage i. In YAML a list of their numbers, from 0; all where the key is absent.
  uint32_t vector_function_stages = kEveryStage;
  uint32_t vector_divide_stages = kEveryStage;
  int vector_row_buffer_words =
      1024;  // words of `lanes` numbers that keep rows on chip between passes
  int vector_rows_in_flight =
      8;  // rows that take a pass together, so that one's latency hides behind the others
  int operand_buffer_words =
      32;  // words that wait for their memory operands: so far requests run ahead of the lanes

  // Depthwise unit: lanes = array_columns channels at once; 0 multipliers a lane: no such unit.
  int depthwise_multipliers =
      9;  // a lane; a kernel of t taps takes ceil(t / multipliers) cycles a word
  int depthwise_buffer_words = 1024;  // a bank, of array_columns codes; two banks
  // Words that one beat of the input port brings into such a bank at most: neighbours in memory, of one pixel or the
  // next. A power of two; more than one must fit the port.
  int depthwise_words_per_cycle = 1;

  // A unit of one's own in the depthwise unit's place (user_unit.h); null: none.
  const UserUnitEntry* user_unit = nullptr;

  // Memory ports, one a stream: bytes moved a cycle (the width of an AXI4 data bus, 8 to 128), and cycles from request
  // to first data, what the port itself takes included.
  int input_port_bytes = 16;
  int weight_port_bytes = 16;
  int operand_port_bytes = 16;
  int output_port_bytes = 16;
  int memory_latency = 16;                  // cycles, every port, fixed
  int64_t memory_bytes = int64_t{1} << 30;  // size of the address space that programs may use

  // All ports, then alike in width, on one AXI4 bus: those that read ask in turn (docs/systolic.md, "Ports").
  bool shared_bus = false;

  // Command processor.
  int instruction_bytes_per_cycle =
      16;  // width of its port; one word of 16 bytes is decoded a cycle, of 8 one in two
  int command_queue_depth = 4;  // instructions waiting in front of each unit

  double clock_mhz = 500;  // only to turn cycles into seconds

  int precisions() const { return 1 + static_cast<int>(other_precisions.size()); }
  const Format& input_format_of(int precision) const {
    return precision == 0 ? input_format
                          : other_precisions[static_cast<size_t>(precision - 1)].input;
  }
  const Format& weight_format_of(int precision) const {
    return precision == 0 ? weight_format
                          : other_precisions[static_cast<size_t>(precision - 1)].weight;
  }
  // The most bits that a code of an input, or of a weight, has in any precision: those of a word's lane in the buffers.
  int input_bits() const;
  int weight_bits() const;
  // Of memory_latency, what the ports themselves take.
  int port_latency() const { return shared_bus ? kSharedPortLatency : kAxiPortLatency; }
  int lanes() const { return array_columns; }
  // Of a word of the depthwise unit in memory.
  int64_t depthwise_word_bytes() const { return int64_t{array_columns} * input_format.bytes(); }
  // The stages, of those that there are, that a set holds; 32 bits for at most kMostVectorStages.
  uint32_t present_stages(uint32_t stages) const {
    return stages & ((uint32_t{1} << vector_stages) - 1);
  }
  bool narrow_vector() const;        // the vector format is not fp32, whatever its name
  int64_t accumulator_bits() const;  // of one accumulator: of its format, or of the quire
  int64_t macs_per_cycle() const { return int64_t{array_rows} * array_columns; }
};

// The design point as it is for instructions of one precision: its pair is the first one, and the only one. Those of
// others than the first have no block scales.
Config AtPrecision(const Config& config, int precision);

// "int8 x int8, e4m3 x nf4": the pairs of a design point.
std::string DescribePrecisions(const Config& config);

// What one count of an operand is worth: 2^-fraction_bits for fixed point under an integer psum, which counts codes,
// else 1.
float UnitOf(const Format& operand, const Config& config);

// Sets psum_format and accumulation_format to the defaults above (integers where all pairs are) for the operand formats
// and block size that stand in the config.
void SetDefaultSums(Config* config);

// What is wrong with the formats of a design point, by key; nullopt when nothing is.
struct FormatFault {
  std::string key, fault, remedy;
};
std::optional<FormatFault> FindFormatFault(const Config& config);
// What keeps the user unit out of a design point; nullopt where nothing does, or there is none.
std::optional<FormatFault> FindUserUnitFault(const Config& config);
// Whether the input port has room for the words that a beat brings into the depthwise unit's banks; one always fits.
bool DepthwiseWordsFit(const Config& config);

// Whether the array sums products of signed integers of up to 8 bits in integers that wrap: their order is free.
bool SumsSignedBytes(const Config& config);

// Reads a design point. Unknown keys, wrong types and sizes out of range are errors that name file and key. Absent keys
// take the defaults above; `family`, `name`, `array_rows` and `array_columns` must stand there.
StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view source);

// The numbers of a set's stages, ascending.
std::vector<int64_t> NumbersOf(uint32_t stages);

// YAML that ParseConfig reads back to the same design point; every key in the order above.
std::string PrintConfig(const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_CONFIG_H_
