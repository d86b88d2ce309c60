// kiln list: what there is to choose from.
#include <fmt/format.h>
#include <CLI/App.hpp>

#include <functional>
#include <map>

#include "kiln/cli/command.h"
#include "kiln/frontend/data_set.h"
#include "kiln/ir/op.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/format.h"
#include "kiln/numerics/nonlinear.h"
#include "kiln/passes/pass.h"
#include "kiln/report/text.h"
#include "kiln/support/resources.h"
#include "kiln/targets/registry.h"

namespace kiln::cli {
namespace {

// Name, family and peak of each design point; a file that does not read says why.
std::string Accelerators() {
  Table table;
  table.Column("accelerator").Column("family").Right("MACs a cycle").Column("file");
  for (const std::filesystem::path& path : ListResources("accelerators")) {
    const auto accelerator = LoadAccelerator(path);
    if (accelerator.ok()) {
      table.Row({path.stem().string(), std::string((*accelerator)->family()),
                 fmt::format("{:g}", (*accelerator)->PeakMacsPerCycle()), path.string()});
    } else {
      table.Row({path.stem().string(), "-", "-", MessageOf(accelerator.status())});
    }
  }
  return table.ToString();
}

std::string Recipes() {
  Table table;
  table.Column("recipe").Column("file");
  for (const std::filesystem::path& path : ListResources("recipes"))
    table.Row({path.stem().string(), path.string()});
  return table.ToString();
}

std::string Families() {
  std::string out;
  for (const std::string& name : FamilyNames()) out += name + '\n';
  return out;
}

std::string KindOf(const Format& format) {
  switch (format.kind) {
    case FormatKind::kInteger:
      return fmt::format("{} {}", format.is_signed ? "signed" : "unsigned",
                         format.is_whole()
                             ? "integer"
                             : fmt::format("fixed point, {} binary places", format.fraction_bits));
    case FormatKind::kFloat:
      return fmt::format("{}float, {} exponent and {} fraction bits",
                         format.is_signed ? "" : "unsigned ", format.exponent_bits,
                         format.fraction_bits);
    case FormatKind::kPosit:
      return fmt::format("posit, {} exponent bits", format.exponent_bits);
    case FormatKind::kCodebook:
      return fmt::format("codebook of {} values", format.codebook->values.size());
  }
  return "?";
}

// "infinity, NaN", "NaN" or nothing.
std::string SpecialsOf(const Format& format) {
  if (format.kind == FormatKind::kPosit) return "NaR";
  if (format.kind != FormatKind::kFloat || format.specials == Specials::kNone) return "";
  return format.specials == Specials::kIeee ? "infinity, NaN" : "NaN";
}

std::string Formats() {
  Table table;
  table.Column("format")
      .Right("bits")
      .Column("kind")
      .Right("least")
      .Right("greatest")
      .Right("least positive")
      .Column("specials");
  for (const Format& format : AllFormats()) {
    table.Row({format.name, fmt::format("{}", format.bits), KindOf(format),
               fmt::format("{:.6g}", ToDouble(LeastValue(format))),
               fmt::format("{:.6g}", ToDouble(GreatestValue(format))),
               fmt::format("{:.3g}", ToDouble(LeastPositive(format))), SpecialsOf(format)});
  }
  return table.ToString() +
         "\nand int<N>, uint<N> up to 32 bits, fixed<N>_<F>, ufixed<N>_<F>, posit<N>_<es>, "
         "e<E>m<M>, a codebook's "
         ".yaml;\n"
         "after a dot: nearest_even, nearest_away, toward_zero, down, stochastic; saturate, wrap, "
         "infinity; "
         "finite, nan_only, fnuz; flush\n";
}

// The vector unit's approximate functions and how far they are off at most.
std::string Functions() {
  Table table;
  table.Column("function")
      .Column("vector format")
      .Right("largest error")
      .Right("at")
      .Right("in ulps")
      .Right("at");
  for (int i = 0; i < kNonlinearFunctions; ++i) {
    const auto function = static_cast<NonlinearFunction>(i);
    for (const char* format : {"fp32", "bf16", "fp16"}) {
      const NonlinearError* error = StatedError(function, format);
      table.Row({std::string(NameOf(function)), format, fmt::format("{:.3g}", error->absolute),
                 fmt::format("{:.6g}", error->absolute_at), fmt::format("{:.3g}", error->ulps),
                 fmt::format("{:.6g}", error->ulps_at)});
    }
  }
  return table.ToString();
}

std::string Operators() {
  Table table;
  table.Column("operator").Column("in IR text").Column("ONNX domain").Column("kind");
  for (const OpInfo& op : AllOps()) {
    std::string kind;
    const auto add = [&](OpTraits trait, std::string_view name) {
      if (op.Has(trait)) kind += (kind.empty() ? "" : ", ") + std::string(name);
    };
    add(kMacs, "multiply-accumulates");
    add(kElementwise, "element-wise");
    add(kReduces, "reduces");
    add(kMovesData, "moves data");
    add(kQuantises, "quantised");
    table.Row({std::string(op.onnx_name), std::string(op.text),
               op.onnx_domain.empty() ? "ai.onnx" : std::string(op.onnx_domain), kind});
  }
  return table.ToString();
}

std::string Passes() {
  Table table;
  table.Column("pass").Column("what it does");
  for (const PassInfo& pass : AllPasses())
    table.Row({std::string(pass.name), std::string(pass.summary)});
  return table.ToString();
}

std::string DataFormats() {
  Table table;
  table.Column("data format").Column("what");
  for (const DataFormatInfo& row : AllDataFormats())
    table.Row({std::string(row.name), std::string(row.what)});
  return table.ToString();
}

std::string Commands() {
  Table table;
  table.Column("command").Column("what it does");
#define KILN_COMMAND(id, name, what) table.Row({name, what});
#include "kiln/cli/commands.def"
#undef KILN_COMMAND
  return table.ToString();
}

struct Row {
  const char* name;
  std::string (*print)();
};
constexpr Row kRows[] = {{"accelerators", Accelerators},
                         {"families", Families},
                         {"recipes", Recipes},
                         {"formats", Formats},
                         {"functions", Functions},
                         {"operators", Operators},
                         {"passes", Passes},
                         {"data-formats", DataFormats},
                         {"commands", Commands}};

class ListCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    std::vector<std::string> names;
    for (const Row& row : kRows) names.emplace_back(row.name);
    app.add_option("what", what_, "What to list")
        ->required()
        ->check(CLI::IsMember(names))
        ->type_name(" ");
    app.footer("Example:\n  kiln list accelerators");
  }

  Status Run(Context& context) override {
    for (const Row& row : kRows) {
      if (what_ == row.name) context.out << row.print();
    }
    return OkStatus();
  }

 private:
  std::string what_;
};

}  // namespace

std::unique_ptr<Command> MakeListCommand() { return std::make_unique<ListCommand>(); }

}  // namespace kiln::cli
