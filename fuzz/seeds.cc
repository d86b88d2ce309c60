// Writes seed inputs for the fuzz targets: `seeds FOLDER` creates FOLDER/<target>/... Files that
// the repository contains anyway (design points, recipes, bad data) are added by fuzz/run.
#include <fmt/format.h>
#include <zip.h>
#include <zlib.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/seeds.h"
#include "kiln/frontend/onnx.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/text.h"
#include "kiln/support/check.h"
#include "kiln/support/file.h"

namespace kiln {

namespace fs = std::filesystem;

namespace {

// The writers of the other files of the program.
std::vector<void (*)(const fs::path& folder)>& Writers() {
  static auto* writers = new std::vector<void (*)(const fs::path& folder)>;
  return *writers;
}

}  // namespace

SeedWriter::SeedWriter(void (*write)(const fs::path& folder)) { Writers().push_back(write); }

void WriteSeed(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  const Status status = WriteFile(path, bytes);
  KILN_CHECK(status.ok());
}

namespace {

constexpr int kGraphs = 60;

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

// Writes graphs as IR text and as ONNX.
void WriteGraphs(const fs::path& folder) {
  WriteSeed(folder / "ir_text_fuzz/odd.kir", kOddGraph);
  RandomGraphOptions options;
  options.min_steps = 1;
  options.max_steps = 6;
  options.max_elements = 64;
  options.allow_nhwc = true;
  for (int i = 0; i < kGraphs; ++i) {
    const Graph graph = RandomGraph(static_cast<uint64_t>(i), options);
    WriteSeed(folder / fmt::format("ir_text_fuzz/random-{}.kir", i), PrintGraph(graph));
    const StatusOr<std::string> onnx = ExportOnnxBytes(graph);
    KILN_CHECK(onnx.ok());
    WriteSeed(folder / fmt::format("onnx_fuzz/random-{}.onnx", i), *onnx);
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
  WriteSeed(at / "images.idx", images);
  WriteSeed(at / "images.idx.gz", Gzip(images));
  WriteSeed(at / "labels.idx", {"\0\0\x08\x01\0\0\0\x02\x01\x02", 10});
  WriteSeed(at / "words.idx", {"\0\0\x0b\x02\0\0\0\x01\0\0\0\x02\x01\x02\x03\x04", 16});
  WriteSeed(at / "labels.txt", "3\n1\n\n4\n");
  WriteSeed(at / "cifar10.bin", std::string(3073, '\x02'));
  WriteSeed(at / "cifar100.bin", std::string(3074, '\x02'));
  WriteSeed(at / "image.pgm", "P5\n# a comment\n3 2\n255\nabcdef");
  WriteSeed(at / "image.ppm", "P6 1 2 65535\nabcdefghijkl");
  WriteSeed(at / "floats.npy", Npy("<f4", "2, 1, 2", "False", std::string(16, '\x3f')));
  WriteSeed(at / "columns.npy", Npy(">i2", "2, 3", "True", "abcdefghijkl"));
  WriteSeed(at / "labels.npy", Npy("|u1", "2,", "False", "ab"));
  const std::string x = Npy("|u1", "2, 2, 3", "False", "abcdefghijkl"),
                    y = Npy("<i8", "2,", "False", std::string(16, '\0'));
  WriteNpz(at / "stored.npz", ZIP_CM_STORE, {{"x.npy", x}, {"y.npy", y}});
  WriteNpz(at / "deflated.npz", ZIP_CM_DEFLATE, {{"labels.npy", y}, {"images.npy", x}});
}

// Writes the seeds of this file and of the others.
void WriteAll(const fs::path& folder) {
  WriteGraphs(folder);
  WriteData(folder);
  for (const auto write : Writers()) write(folder);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: seeds FOLDER\n");
    return 2;
  }
  kiln::WriteAll(argv[1]);
  return 0;
}
