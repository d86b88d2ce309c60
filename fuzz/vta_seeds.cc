// Seeds of the fuzz targets of the VTA family.
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fuzz/seeds.h"
#include "fuzz/vta_remote_service.h"
#include "kiln/support/check.h"
#include "kiln/targets/vta/isa/isa.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

// A conversation between a client and a server of VTA devices. The first byte of a seed tells the
// target whether to prepend the valid hello; if not, the seed contains a hello of its own.
class ConversationSeed {
 public:
  explicit ConversationSeed(bool hello_before) : bytes_(1, hello_before ? 1 : 0) {}
  ConversationSeed& Say(vta::FrameWriter message) {
    const std::vector<uint8_t> frame = message.Take();
    bytes_.insert(bytes_.end(), frame.begin(), frame.end());
    return *this;
  }
  // Appends a request with 64-bit numbers as its operands.
  ConversationSeed& Ask(vta::RequestKind kind, std::initializer_list<uint64_t> numbers) {
    vta::FrameWriter message(static_cast<uint32_t>(kind));
    for (const uint64_t number : numbers) message.Number64(number);
    return Say(std::move(message));
  }
  ConversationSeed& WriteMemory(uint64_t address, std::span<const uint8_t> bytes) {
    vta::FrameWriter message(static_cast<uint32_t>(vta::RequestKind::kWrite));
    message.Number64(address);
    message.Bytes(bytes);
    return Say(std::move(message));
  }
  ConversationSeed& ReadMemory(uint64_t address, uint32_t bytes) {
    vta::FrameWriter message(static_cast<uint32_t>(vta::RequestKind::kRead));
    message.Number64(address);
    message.Number32(bytes);
    return Say(std::move(message));
  }
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  std::vector<uint8_t> bytes_;
};

// Returns a hello message with the given contents.
vta::FrameWriter Hello(uint32_t magic, uint32_t version, std::string_view token,
                       std::string_view sizes) {
  vta::FrameWriter hello(static_cast<uint32_t>(vta::RequestKind::kHello));
  hello.Number32(magic);
  hello.Number32(version);
  hello.Text(token);
  hello.Text(sizes);
  return hello;
}

// Programs for the service's machine: one that moves, multiplies and adds, and some that fault.
constexpr std::string_view kRemotePrograms[] = {
    "---- FINISH\n",
    "---- LOAD uop sram=0 dram=1280 y=1 x=2 stride=2 pad(y0,y1,x0,x1)=0,0,0,0\n"
    "---- LOAD wgt sram=0 dram=352 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0\n"
    "---N LOAD inp sram=0 dram=1344 y=2 x=2 stride=3 pad(y0,y1,x0,x1)=1,0,1,1\n"
    "---- LOAD acc sram=0 dram=330 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0\n"
    "p--- GEMM uop[0,2) loop 2x2 dst(2,1) src(1,1) wgt(0,0)\n"
    "---N ALU shr imm=3 uop[0,1) loop 1x4 dst(0,1) src(0,1)\n"
    "p-P- STORE out sram=0 dram=1400 y=1 x=4 stride=4 pad(y0,y1,x0,x1)=0,0,0,0\n"
    "-n-- FINISH\n",
    "p--- FINISH\n",
    "---- LOAD inp sram=0 dram=999999 y=1 x=1 stride=1 pad(y0,y1,x0,x1)=0,0,0,0\n---- FINISH\n",
    "---- GEMM uop[0,1) loop 999x999 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH\n"};

// Writes conversations: hellos, complete sessions, and requests that the server refuses.
void WriteConversations(const fs::path& folder) {
  using vta::RequestKind;
  const vta::ServiceSettings service = vta::SmallService();
  const std::string sizes = vta::SizesOf(service.config);
  int count = 0;
  const auto write = [&](const ConversationSeed& seed) {
    WriteSeed(folder / fmt::format("vta_remote_fuzz/{}.bin", count++), seed.bytes());
  };
  // The valid hello, and hellos with one wrong field each.
  const uint32_t magic = vta::kRemoteMagic, version = vta::kRemoteVersion;
  write(ConversationSeed(false)
            .Say(Hello(magic, version, service.token, sizes))
            .ReadMemory(4096, 16));
  write(ConversationSeed(false).Say(Hello(magic + 1, version, service.token, sizes)));
  write(ConversationSeed(false).Say(Hello(magic, version + 1, service.token, sizes)));
  write(ConversationSeed(false).Say(Hello(magic, version, "fedcba9876543210", sizes)));
  write(ConversationSeed(false).Say(
      Hello(magic, version, service.token, "1x16_i8w8a32_15_15_18_17")));
  write(ConversationSeed(false).Ask(RequestKind::kAllocate, {4096}));
  write(ConversationSeed(true).Say(Hello(magic, version, service.token, sizes)));
  // Complete sessions. The first allocation is at address 4096: the instruction stream, followed by
  // data from 5120 on.
  for (const std::string_view text : kRemotePrograms) {
    const auto program = vta::Assemble(text, "seed", vta::Encoding(service.config));
    KILN_CHECK(program.ok());
    std::vector<uint8_t> data(1024);
    for (size_t i = 8; i < data.size(); ++i) data[i] = static_cast<uint8_t>(37 * i);
    write(ConversationSeed(true)
              .Ask(RequestKind::kAllocate, {8192})
              .WriteMemory(4096, *program)
              .WriteMemory(5120, data)
              .Ask(RequestKind::kRun, {4096, program->size() / vta::kInstructionBytes, 0})
              .ReadMemory(5600, 16)
              .Ask(RequestKind::kFree, {4096}));
  }
  // Requests that the device refuses or that end the session: wrong sizes, an unknown request.
  write(ConversationSeed(true)
            .Ask(RequestKind::kFree, {4096})
            .ReadMemory(1 << 20, 64)
            .Ask(RequestKind::kAllocate, {uint64_t{1} << 40})
            .Ask(RequestKind::kRun, {4096, 65, 0}));
  write(
      ConversationSeed(true).Ask(RequestKind::kAllocate, {1}).ReadMemory(4096, vta::kMaxData + 1));
  write(ConversationSeed(true).Ask(RequestKind::kRun, {4096, 1}));
  write(ConversationSeed(true).Ask(static_cast<RequestKind>(7), {0}));
}

// Minimal VTA vectors of each kind: a GEMM instruction on blocks of 2, recorded runtime calls that
// add to sums and store them, and a program that deadlocks.
constexpr std::string_view kGemmVector = R"({
"inst": {"reset": "0", "uop_begin": "0", "uop_end": "1", "lp_0": "1", "lp_1": "2", "acc_0": "0", "acc_1": "1",
         "inp_0": "0", "inp_1": "1", "wgt_0": "0", "wgt_1": "0"},
"uop": [{"idx": "0", "vec": ["0", "0", "0"]}],
"inp": [{"idx": "0", "vec": ["01", "ff"]}, {"idx": "1", "vec": ["02", "03"]}],
"wgt": [{"idx": "0", "vec": ["01", "02", "03", "04"]}],
"acc_i": [{"idx": "0", "vec": ["5", "6"]}, {"idx": "1", "vec": ["7", "8"]}],
"acc_o": [{"idx": "0", "vec": ["4", "5"]}, {"idx": "1", "vec": ["f", "1a"]}]
})";
constexpr std::string_view kRuntimeVector =
    R"({"format": "vta-rtapi-1", "name": "calls", "config": {"LOG_BLOCK": 4},
"calls": [["VTABufferAlloc", {"id": "C", "size": 64}], ["VTABufferCopyIn", {"id": "C", "hex": "0102"}],
 ["VTALoadBuffer2D", {"src": "C", "src_elem_offset": 0, "x_size": 1, "y_size": 1, "x_stride": 1, "x_pad_before": 0,
  "y_pad_before": 0, "x_pad_after": 0, "y_pad_after": 0, "dst_sram_index": 0, "dst_memory_type": 3}],
 ["VTAPushALUOp", {"handle": "add", "signature": null, "body": [["VTAUopLoopBegin", [4, 1, 1, 0]],
  ["VTAUopPush", [1, 0, 0, 0, 0, 2, 1, 5]], ["VTAUopLoopEnd", []]]}],
 ["VTADepPush", {"from": 2, "to": 3}], ["VTADepPop", {"from": 2, "to": 3}],
 ["VTAStoreBuffer2D", {"dst": "C", "dst_elem_offset": 0, "src_sram_index": 0, "src_memory_type": 4, "x_size": 4,
  "y_size": 1, "x_stride": 4}], ["VTASynchronize", {}], ["VTABufferFree", {"id": "C"}]],
"buffers": {"C": {"size": 64, "phys": 67112960}},
"launches": [{"insn_addr": 0, "insns": ["00"], "uop_loads": [{"dram_addr": 4096, "sram": 0, "words": [0]}]}],
"final": {"C": "05"}})";
constexpr std::string_view kProgramVector =
    R"({"format": "vta-vector-1", "name": "p", "config": {}, "dram_base": 4096,
"dram_size": 4096, "dram_in": "in.bin", "dram_out": "out.bin", "sha256_in": "00", "expect": "error",
"error_kind": "deadlock", "runs": [{"insn_addr": 4096, "insn_count": 1, "insns": ["00"]}],
"counters": {"inp_load_nbytes": 0}})";

void WriteVectors(const fs::path& folder) {
  WriteSeed(folder / "vta_vector_fuzz/gemm.json", kGemmVector);
  WriteSeed(folder / "vta_vector_fuzz/calls.json", kRuntimeVector);
  WriteSeed(folder / "vta_vector_fuzz/program.json", kProgramVector);
}

const SeedWriter kConversations(&WriteConversations), kVectors(&WriteVectors);

}  // namespace
}  // namespace kiln
