// Reads the original's GEMM test vectors and turns each into a program vector: a program that loads
// the buffers, runs the instruction and stores the accumulators.

#include "kiln/targets/vta/isa/gemm_vector.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "fmt/format.h"
#include "kiln/targets/vta/isa/emitter.h"
#include "kiln/targets/vta/isa/memory_image.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;

// The numbers of one buffer, element after element.
struct Elements {
  std::vector<uint32_t> numbers;
  int64_t length = 0;  // numbers per element
  int64_t count() const { return length == 0 ? 0 : std::ssize(numbers) / length; }
};

// Reads one vector: the design point follows from the lengths of its elements.
class GemmVectorReader {
 public:
  GemmVectorReader(const Json& json, const std::string& file) : json_(json), reader_(file) {
    config_.name = "gemm";
  }

  StatusOr<ProgramVector> Read(const fs::path& file) {
    ReadInstruction();
    // An element of `uop` holds a micro-op's three indices.
    const Elements uops = ReadElements("uop", 32), inputs = ReadElements("inp", config_.input_bits),
                   weights = ReadElements("wgt", config_.weight_bits),
                   before = ReadElements("acc_i", config_.accumulator_bits),
                   after = ReadElements("acc_o", config_.accumulator_bits);
    if (uops.length != 3)
      reader_.Fail("uop", "has elements of other than three numbers",
                   "[accumulator, input, weight]");
    if (before.length != after.length || before.count() != after.count()) {
      reader_.Fail("acc_o", "is of another size than acc_i", "as many elements, as long");
    }
    KILN_RETURN_IF_ERROR(reader_.status());
    FindBlocks(inputs.length, weights.length, before.length);
    KILN_RETURN_IF_ERROR(reader_.status());
    Fit("uop", uops.count(), config_.uops());
    Fit("inp", inputs.count(), config_.inputs());
    Fit("wgt", weights.count(), config_.weights());
    Fit("acc_i", before.count(), config_.accumulators());
    if (uop_end_ > static_cast<uint64_t>(uops.count()) || uop_begin_ >= uop_end_) {
      reader_.Fail("inst.uop_end", fmt::format("runs micro-ops {} to {}", uop_begin_, uop_end_),
                   fmt::format("one or more of the {} in 'uop'", uops.count()));
    }
    KILN_RETURN_IF_ERROR(reader_.status());
    auto vector = Program(uops, inputs, weights, before, after);
    if (!vector.ok())
      return ErrorAt(file.string(), "key 'inst'", MessageOf(vector.status()),
                     "fields that have room");
    vector->name = file.stem().string();
    return vector;
  }

 private:
  // Reads a number of hex digits that has at most `bits` bits.
  uint32_t Number(const Json& value, const std::string& path, int bits) {
    uint64_t number = 0;
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() ||
        static_cast<int>(std::bit_width(number)) > bits) {
      reader_.Fail(path, fmt::format("{} is no such number", Shown(value)),
                   fmt::format("hex digits of {} bits", bits));
      return 0;
    }
    return static_cast<uint32_t>(number);
  }

  void ReadInstruction() {
    const Json* inst = reader_.Find(json_, "inst", "inst");
    if (inst == nullptr) return;
    const auto field = [&](const char* key) -> int64_t {
      const Json* value = reader_.Find(*inst, key, fmt::format("inst.{}", key));
      return value == nullptr ? 0 : Number(*value, fmt::format("inst.{}", key), 32);
    };
    reset_ = field("reset") != 0;
    uop_begin_ = static_cast<uint64_t>(field("uop_begin"));
    uop_end_ = static_cast<uint64_t>(field("uop_end"));
    loops_.outer = field("lp_0");
    loops_.inner = field("lp_1");
    loops_.dst_outer = field("acc_0");
    loops_.dst_inner = field("acc_1");
    loops_.src_outer = field("inp_0");
    loops_.src_inner = field("inp_1");
    loops_.weight_outer = field("wgt_0");
    loops_.weight_inner = field("wgt_1");
  }

  Elements ReadElements(const std::string& key, int bits) {
    Elements elements;
    const Json::array_t& list = reader_.List(json_, key, key);
    for (size_t i = 0; i < list.size() && reader_.status().ok(); ++i) {
      const std::string path = fmt::format("{}[{}]", key, i);
      const Json* index = reader_.Find(list[i], "idx", path + ".idx");
      if (index != nullptr && Number(*index, path + ".idx", 32) != i) {
        reader_.Fail(path + ".idx", Shown(*index) + " is out of order", fmt::format("{:x}", i));
      }
      const Json::array_t& vec = reader_.List(list[i], "vec", path + ".vec");
      if (i == 0) elements.length = std::ssize(vec);
      if (std::ssize(vec) != elements.length || vec.empty()) {
        reader_.Fail(path + ".vec", fmt::format("has {} numbers", vec.size()),
                     "as many as the first one, and some");
      }
      for (size_t k = 0; k < vec.size(); ++k) {
        elements.numbers.push_back(Number(vec[k], fmt::format("{}.vec[{}]", path, k), bits));
      }
    }
    if (list.empty()) reader_.Fail(key, "is empty", "one element or more");
    return elements;
  }

  // Finds batch, block_in and block_out from batch * block_in, block_out * block_in and batch *
  // block_out, the lengths of the elements. Takes the smallest batch that fits.
  void FindBlocks(int64_t input, int64_t weight, int64_t accumulator) {
    constexpr int64_t kMost = 1 << 12;
    const auto fits = [&](int64_t batch) {
      return input % batch == 0 && accumulator % batch == 0 &&
             (input / batch) * (accumulator / batch) == weight;
    };
    for (int64_t batch = 1; batch <= std::min(input, kMost); batch *= 2) {
      if (!fits(batch)) continue;
      config_.batch = static_cast<int>(batch);
      config_.block_in = static_cast<int>(input / batch);
      config_.block_out = static_cast<int>(accumulator / batch);
      return CheckConfig();
    }
    reader_.Fail(
        "wgt",
        fmt::format("has elements of {} numbers, beside {} of inputs and {} of accumulators",
                    weight, input, accumulator),
        "batch * block_in inputs, block_out * block_in weights, batch * block_out accumulators");
  }

  // Gives each buffer as many elements as in the original's default, and checks that a design point
  // with these blocks is valid.
  void CheckConfig() {
    const Config usual;
    config_.input_buffer_bytes = usual.inputs() * config_.input_element_bytes();
    config_.weight_buffer_bytes = usual.weights() * config_.weight_element_bytes();
    config_.accumulator_buffer_bytes = usual.accumulators() * config_.accumulator_element_bytes();
    const auto config = ParseConfig(PrintConfig(config_), "");
    if (!config.ok())
      reader_.Fail("wgt", "is of no design point: " + MessageOf(config.status()),
                   "blocks of a legal size");
  }

  void Fit(const std::string& key, int64_t count, int64_t most) {
    if (count > most)
      reader_.Fail(key, fmt::format("has {} elements", count),
                   fmt::format("at most {}, what the buffer holds", most));
  }

  // Returns the memory image of elements: each number has `bits` bits, stored little-endian.
  static std::vector<uint8_t> Bytes(const Elements& elements, int bits) {
    std::vector<uint8_t> bytes;
    for (const uint32_t number : elements.numbers) {
      for (int bit = 0; bit < bits; bit += 8) bytes.push_back(static_cast<uint8_t>(number >> bit));
    }
    return bytes;
  }

  StatusOr<ProgramVector> Program(const Elements& uops, const Elements& inputs,
                                  const Elements& weights, const Elements& before,
                                  const Elements& after) {
    ProgramVector vector;
    vector.config = config_;
    vector.base = MemoryImage::kBase;
    MemoryImage image;
    Emitter emitter(config_);
    const auto load = [&](Memory memory, const Elements& elements, int bits) {
      emitter.Load(memory,
                   {image.Add(Bytes(elements, bits)), 0, 1, elements.count(), elements.count()});
    };
    load(Memory::kInput, inputs, config_.input_bits);
    load(Memory::kWeight, weights, config_.weight_bits);
    emitter.last().push_next = true;
    load(Memory::kAccumulator, before, config_.accumulator_bits);
    std::vector<Uop> own;
    for (size_t i = 0; i < uops.numbers.size(); i += 3) {
      own.push_back({uops.numbers[i], uops.numbers[i + 1], uops.numbers[i + 2]});
    }
    KILN_RETURN_IF_ERROR(CheckUops(own));
    emitter.Gemm(own, {uop_begin_, uop_end_}, loops_);
    emitter.last().reset = reset_;
    emitter.last().pop_previous = true;
    // Stores write the low byte of each accumulator, so the bytes are stored one plane at a time,
    // with a shift by 8 bits between them.
    std::vector<uint64_t> planes;
    for (int bit = 0; bit < config_.accumulator_bits; bit += 8) {
      if (bit > 0) ShiftDown(&emitter, before.count());
      emitter.last().push_next = true;
      planes.push_back(image.Reserve(static_cast<uint64_t>(after.numbers.size())));
      emitter.Store({planes.back(), 0, 1, after.count(), after.count()});
      emitter.last().pop_previous = emitter.last().push_previous = true;
    }
    emitter.Nop(Stage::kCompute);
    emitter.last().pop_next = true;
    KILN_ASSIGN_OR_RETURN(const Launch launch, emitter.Finish(&image));
    vector.launches = {{launch.address, launch.instructions.size()}};
    vector.before.assign(image.bytes().begin(), image.bytes().end());
    for (size_t plane = 0; plane < planes.size(); ++plane) {
      for (size_t i = 0; i < after.numbers.size(); ++i) {
        *(image.At(planes[plane]) + static_cast<std::ptrdiff_t>(i)) =
            static_cast<uint8_t>(after.numbers[i] >> (8 * plane));
      }
    }
    vector.after.assign(image.bytes().begin(), image.bytes().end());
    vector.name_of_byte = [planes, length = static_cast<uint64_t>(after.length),
                           numbers = after.numbers.size()](uint64_t address) -> std::string {
      for (size_t plane = 0; plane < planes.size(); ++plane) {
        if (address < planes[plane] || address >= planes[plane] + numbers) continue;
        const uint64_t at = address - planes[plane];
        return fmt::format("byte {} of acc_o[{}].vec[{}]", plane, at / length, at % length);
      }
      return "";
    };
    return vector;
  }

  // Checks that the micro-ops have an encoding. The machine checks that every step stays in the
  // buffers.
  Status CheckUops(const std::vector<Uop>& uops) const {
    const int64_t most_src = std::max(config_.inputs(), config_.accumulators());
    for (size_t i = 0; i < uops.size(); ++i) {
      const Uop& uop = uops[i];
      if (uop.dst < config_.accumulators() && uop.src < most_src && uop.weight < config_.weights())
        continue;
      return absl::InvalidArgumentError(
          fmt::format("micro-op {} has an index beyond its field", i));
    }
    return OkStatus();
  }

  static void ShiftDown(Emitter* emitter, int64_t count) {
    Loops all;
    all.inner = count;
    all.dst_inner = 1;
    const Uop first;
    emitter->AluImmediate(AluOp::kShiftRight, {&first, 1}, all, 8);
    emitter->last().pop_next = true;
  }

  const Json& json_;
  JsonReader reader_;
  Config config_;
  bool reset_ = false;
  uint64_t uop_begin_ = 0, uop_end_ = 0;
  Loops loops_;
};

}  // namespace

bool IsGemmVector(const Json& json) {
  return json.contains("inst") && json.contains("acc_i") && json.contains("acc_o");
}

StatusOr<ProgramVector> ParseGemmVector(const Json& json, const fs::path& file) {
  return GemmVectorReader(json, file.string()).Read(file);
}

}  // namespace kiln::vta
