// The commands of `kiln vta` that run test vectors from files and folders: exec and replay.
#ifndef KILN_TARGETS_VTA_COMMAND_VECTORS_H_
#define KILN_TARGETS_VTA_COMMAND_VECTORS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/command/command.h"
#include "kiln/support/json_reader.h"
#include "kiln/targets/vta/isa/counters.h"
#include "kiln/targets/vta/isa/program_vector.h"
#include "kiln/targets/vta/simulate/rtl/rtl_machine.h"

namespace kiln::cli {

// Default of --max-steps, the limit on a launch. This many steps take seconds to simulate, and ten
// seconds on a machine at 100 MHz.
inline constexpr uint64_t kVtaSteps = 1'000'000'000;
// Declares --max-steps.
void DeclareVtaSteps(CLI::App& app, uint64_t* steps);

// The base class of both commands: searches for files, loops over vectors, and prints the report.
class VectorsCommand {
 protected:
  // The result of one vector.
  struct Outcome {
    std::string name, configuration;
    std::string what;                       // printed after "pass"
    std::optional<std::string> difference;  // nullopt: the vector passes
    std::optional<vta::RunTime> time;       // if cycles were counted and the program finished
  };
  // A kind of vector file.
  struct Kind {
    std::function<bool(const Json& json)> is_one;
    std::string what;  // "files of format vta-vector-1"
  };
  // Runs one vector and returns its result.
  using RunOne =
      std::function<StatusOr<Outcome>(const Json& json, const std::filesystem::path& file)>;

  // Declares the positional argument and --json. `what` describes the argument.
  void DeclareFiles(CLI::App& app, const char* what);
  // Returns whether the argument is a single file.
  bool IsOneFile() const;
  // Runs `run` on each file of the kind and prints all results. Files of other kinds are skipped in
  // folders but are errors if named. An error in a named file ends the command. An error in a file
  // from a folder becomes that file's result, unless the file before had the same error: then the
  // cause is not the file, and the error ends the command. `how` ends the summary, for example
  // ", in 10 orders of the stages"; `output` is a file that `run` writes.
  //   errors  vectors that fail
  Status RunEach(Context& context, const Kind& kind, const RunOne& run, const std::string& how,
                 const std::string& output = "") const;

 private:
  // One line of the table.
  struct Row {
    std::string file;
    Outcome outcome;
  };
  // Returns whether the file is an argument itself.
  bool IsNamed(const std::filesystem::path& file) const;
  // Prints the table and writes the JSON.
  Status Report(Context& context, const std::vector<Row>& rows, const std::string& how) const;

  std::vector<std::string> arguments_;
  std::string json_;
};

// `kiln vta exec`: runs program vectors at a level and compares memory, counters and cycles.
class ExecCommand : public VectorsCommand {
 public:
  void Declare(CLI::App& app);
  Status Run(Context& context) const;

 private:
  std::optional<std::string> RunOrders(const vta::ProgramVector& vector) const;
  // Run one vector at the cycle level, with its trace if requested, and on simulated hardware.
  StatusOr<Outcome> RunCycles(const vta::ProgramVector& vector, Outcome one) const;
  StatusOr<Outcome> RunHardware(const vta::ProgramVector& vector, vta::RtlDesigns& designs,
                                Outcome one) const;

  // Returns an error if an option is given that this level ignores.
  Status CheckHeeded() const;
  // Parses a vector and sets the machine that --on names.
  StatusOr<vta::ProgramVector> Read(const Json& json, const std::filesystem::path& file,
                                    const std::optional<vta::Config>& machine) const;

  const CLI::App* app_ = nullptr;
  std::string level_ = "functional", trace_, designs_, machine_;
  int orders_ = 10;
  uint64_t most_steps_ = kVtaSteps;
};

// `kiln vta replay`: repeats recorded runtime calls and compares streams and memory.
class ReplayCommand : public VectorsCommand {
 public:
  void Declare(CLI::App& app);
  Status Run(Context& context) const;

 private:
  std::string device_ = "functional";
};

}  // namespace kiln::cli

#endif  // KILN_TARGETS_VTA_COMMAND_VECTORS_H_
