// Writes seed inputs for the fuzz targets: `seeds FOLDER` creates FOLDER/<target>/... Files that
// the repository contains anyway (design points, recipes, bad data) are added by fuzz/run.
#include <fmt/format.h>
#include <zip.h>
#include <zlib.h>

#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/vta_remote_service.h"
#include "kiln/frontend/onnx.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/text.h"
#include "kiln/support/check.h"
#include "kiln/support/file.h"
#include "kiln/support/random.h"
#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/vta/isa/isa.h"
#include "tests/targets/systolic/random_instruction.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr int kGraphs = 60;
constexpr int kPrograms = 60;
constexpr int kNumbers = 40;

// A graph with the features that random graphs lack: annotations, every kind of attribute and
// constant, unknown dimensions.
constexpr std::string_view kOddGraph = R"(graph "odd" {
  metadata "kiln.mean" = "0.5"
  input %image : f32[?x3x8x8] quant int8 per_tensor scale=[0.0078125] zero=[-3]
  input %any : f32[*]
  const %w : f32[2x3x1x1] quant int4 per_channel symmetric axis=0 scale=[0.5, 0.25] = [0, 0.1, 0.2, -0.3, 1, 1e-10]
  const %b : f32[2] = base64 "AACAPwAAAEA="
  const %words : str[2] = ["a\x0ab", ""]
  const %shape : i64[2] = [0, -1]
  const %flag : bool[] = [1]
  %1 = conv %image, %w, %b {kernel_shape=[1, 1], strides=[1, 1]} "a node" region "stem" : f32[?x2x8x8]
  %2, _ = max_pool %1 {kernel_shape=[2, 2]} : f32[?x2x7x7]
  %"a b" = reshape %2, %shape {allowzero=0} : f32[?x?]
  %4 = leaky_relu %any {alpha=0.25}
  %5 = softmax %"a b" {axis=-1}
  output %5
  output %4
}
)";

// Writes one seed.
void Write(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  const Status status = WriteFile(path, bytes);
  KILN_CHECK(status.ok());
}

// Writes graphs as IR text and as ONNX.
void WriteGraphs(const fs::path& folder) {
  Write(folder / "ir_text_fuzz/odd.kir", kOddGraph);
  RandomGraphOptions options;
  options.min_steps = 1;
  options.max_steps = 6;
  options.max_elements = 64;
  options.allow_nhwc = true;
  for (int i = 0; i < kGraphs; ++i) {
    const Graph graph = RandomGraph(static_cast<uint64_t>(i), options);
    Write(folder / fmt::format("ir_text_fuzz/random-{}.kir", i), PrintGraph(graph));
    const StatusOr<std::string> onnx = ExportOnnxBytes(graph);
    KILN_CHECK(onnx.ok());
    Write(folder / fmt::format("onnx_fuzz/random-{}.onnx", i), *onnx);
  }
}

// Writes random valid instructions of the systolic machine.
void WritePrograms(const fs::path& folder) {
  Random random(1);
  for (int i = 0; i < kPrograms; ++i) {
    const systolic::Config config;  // the design point of the fuzz target
    std::vector<systolic::Instruction> program;
    for (int count = i % 3; count >= 0; --count) {
      const auto opcode = static_cast<systolic::Opcode>(1 + random.Below(3));
      program.push_back(systolic::RandomInstruction(random, config, opcode).instruction);
    }
    program.emplace_back();  // kEnd
    const std::vector<uint8_t> bytes = systolic::Encode(program, config);
    Write(folder / fmt::format("systolic_decode_fuzz/{}.bin", i),
          {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

// Returns the bytes compressed with gzip.
std::string Gzip(const std::string& bytes) {
  z_stream stream = {};
  KILN_CHECK(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(bytes.size() + 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  KILN_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

// Returns an .npy file of version 1.0.
std::string Npy(std::string_view descr, std::string_view shape, std::string_view order,
                const std::string& elements) {
  const std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}\n", descr, order, shape);
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size());
  out += '\0';
  return out + header + elements;
}

// Writes an .npz archive with the given compression method.
void WriteNpz(const fs::path& path, zip_int32_t method,
              const std::vector<std::pair<std::string, std::string>>& entries) {
  int fault = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &fault);
  KILN_CHECK(archive != nullptr);
  for (const auto& [name, bytes] : entries) {
    zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, 0);
    KILN_CHECK(index >= 0);
    KILN_CHECK(zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), method, 0) == 0);
  }
  KILN_CHECK(zip_close(archive) == 0);
}

// Writes one small file per data format.
void WriteData(const fs::path& folder) {
  const fs::path at = folder / "data_set_fuzz";
  const std::string images(
      "\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03"
      "abcdefghijkl",
      28);
  Write(at / "images.idx", images);
  Write(at / "images.idx.gz", Gzip(images));
  Write(at / "labels.idx", {"\0\0\x08\x01\0\0\0\x02\x01\x02", 10});
  Write(at / "words.idx", {"\0\0\x0b\x02\0\0\0\x01\0\0\0\x02\x01\x02\x03\x04", 16});
  Write(at / "labels.txt", "3\n1\n\n4\n");
  Write(at / "cifar10.bin", std::string(3073, '\x02'));
  Write(at / "cifar100.bin", std::string(3074, '\x02'));
  Write(at / "image.pgm", "P5\n# a comment\n3 2\n255\nabcdef");
  Write(at / "image.ppm", "P6 1 2 65535\nabcdefghijkl");
  Write(at / "floats.npy", Npy("<f4", "2, 1, 2", "False", std::string(16, '\x3f')));
  Write(at / "columns.npy", Npy(">i2", "2, 3", "True", "abcdefghijkl"));
  Write(at / "labels.npy", Npy("|u1", "2,", "False", "ab"));
  const std::string x = Npy("|u1", "2, 2, 3", "False", "abcdefghijkl"),
                    y = Npy("<i8", "2,", "False", std::string(16, '\0'));
  WriteNpz(at / "stored.npz", ZIP_CM_STORE, {{"x.npy", x}, {"y.npy", y}});
  WriteNpz(at / "deflated.npz", ZIP_CM_DEFLATE, {{"labels.npy", y}, {"images.npy", x}});
}

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
    Write(folder / fmt::format("vta_remote_fuzz/{}.bin", count++), seed.bytes());
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
  Write(folder / "vta_vector_fuzz/gemm.json", kGemmVector);
  Write(folder / "vta_vector_fuzz/calls.json", kRuntimeVector);
  Write(folder / "vta_vector_fuzz/program.json", kProgramVector);
}

// Writes design points with every key of the dataflow family, and bytes from which its fuzz
// targets take the numbers of problems and pipelines.
void WriteDataflow(const fs::path& folder) {
  dataflow::Config config;
  config.name = "seed";
  config.ultrascale = config.two_way = false;
  config.target_fps = 30;
  config.products_per_dsp = 4;
  config.channel_bits = 4096;
  config.slack_percent = 2.5;
  config.channel_padding = true;
  config.weight_ports = 2;
  config.weight_port_bytes = 32;
  config.weight_latency = 40;
  Write(folder / "accelerator_yaml_fuzz/dataflow_ports.yaml", dataflow::PrintConfig(config));
  config.weight_ports = 0;
  config.passes = 3;
  config.reload_cycles = 100000;
  Write(folder / "accelerator_yaml_fuzz/dataflow_passes.yaml", dataflow::PrintConfig(config));
  config.passes = 1;
  config.devices = 2;
  Write(folder / "accelerator_yaml_fuzz/dataflow_devices.yaml", dataflow::PrintConfig(config));
  Random random(1);
  for (int i = 0; i < kNumbers; ++i) {
    std::string bytes(static_cast<size_t>(random.Between(100, 2000)), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.Below(256));
    Write(folder / fmt::format("dataflow_fold_fuzz/{}.bin", i), bytes);
    Write(folder / fmt::format("dataflow_pipeline_fuzz/{}.bin", i), bytes);
  }
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  kiln::WriteGraphs(folder);
  kiln::WritePrograms(folder);
  kiln::WriteData(folder);
  kiln::WriteConversations(folder);
  kiln::WriteVectors(folder);
  kiln::WriteDataflow(folder);
  return 0;
}
