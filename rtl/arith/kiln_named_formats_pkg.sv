// The named number formats. Written by kiln::hardware::NamedFormatsPackage
// (src/kiln/hardware/rtl_format.h) from src/kiln/numerics/formats.def; a test compares.
package kiln_named_formats_pkg;

  // kiln_format_pkg::format_t, written out: Yosys 0.23 does not resolve types of other packages
  // inside a package.
  typedef logic [18639:0] format_t;

  localparam format_t INT2 = 18640'h2020100000000000001020;
  localparam format_t INT3 = 18640'h3030200000000000001030;
  localparam format_t INT4 = 18640'h4030300000000000001040;
  localparam format_t INT5 = 18640'h5040400000000000001050;
  localparam format_t INT6 = 18640'h6040500000000000001060;
  localparam format_t INT7 = 18640'h7040600000000000001070;
  localparam format_t INT8 = 18640'h8040700000000000001080;
  localparam format_t INT16 = 18640'h10050f00000000000001100;
  localparam format_t INT32 = 18640'h20061f00000000000001200;
  localparam format_t UINT1 = 18640'h2010100000000000000010;
  localparam format_t UINT2 = 18640'h3020200000000000000020;
  localparam format_t UINT3 = 18640'h4030300000000000000030;
  localparam format_t UINT4 = 18640'h5030400000000000000040;
  localparam format_t UINT5 = 18640'h6040500000000000000050;
  localparam format_t UINT6 = 18640'h7040600000000000000060;
  localparam format_t UINT7 = 18640'h8040700000000000000070;
  localparam format_t UINT8 = 18640'h9040800000000000000080;
  localparam format_t UINT16 = 18640'h11051000000000000000100;
  localparam format_t TERNARY = 18640'h2020100100000000001020;
  localparam format_t BINARY = {
    18384'h17fffffff0000,
    256'h7fffff01000000003f800000bf80000000000000302010100010000000000013};
  localparam format_t FIXED8_4 = 18640'h8030700000000004001080;
  localparam format_t FIXED8_6 = 18640'h8040700000000006001080;
  localparam format_t FIXED16_8 = 18640'h10040f00000000008001100;
  localparam format_t FP32 = 18640'h91820001007f17081201;
  localparam format_t TF32 = 18640'h90b20001007f0a081131;
  localparam format_t FP16 = 18640'h60b20001000f0a051101;
  localparam format_t BF16 = 18640'h90820001007f07081101;
  localparam format_t E4M3 = 18640'h50400002000703041081;
  localparam format_t E5M2 = 18640'h50300001000f02051081;
  localparam format_t E4M3_IEEE = 18640'h50400001000703041081;
  localparam format_t E4M3_FNUZ = 18640'h50400003000803041081;
  localparam format_t E5M2_FNUZ = 18640'h60300003001002051081;
  localparam format_t E3M2 = 18640'h40300000000302031061;
  localparam format_t E2M3 = 18640'h30400000000103021061;
  localparam format_t E2M1 = 18640'h30200000000101021041;
  localparam format_t E8M0 = 18640'h80100022007f00080081;
  localparam format_t UE5M3 = 18640'h60400002000f03050081;
  localparam format_t POSIT4_0 = 18640'h30200000000000001042;
  localparam format_t POSIT6_0 = 18640'h40400000000000001062;
  localparam format_t POSIT6_1 = 18640'h50300000000000011062;
  localparam format_t POSIT8_0 = 18640'h40600000000000001082;
  localparam format_t POSIT8_1 = 18640'h50500000000000011082;
  localparam format_t POSIT8_2 = 18640'h60400000000000021082;
  localparam format_t POSIT16_1 = 18640'h60d00000000000011102;
  localparam format_t POSIT16_2 = 18640'h70c00000000000021102;
  localparam format_t POSIT32_2 = 18640'h81c00000000000021202;
  localparam format_t NF4 = {
    17360'h7ff8000010fbf5c89da,
    256'h0ebf248db00dbf006d040cbec753fa0bbe9582d50abe5067e109bdf6486308bd,
    256'h22fb000742c5878e0641f2c74405418fc31304415215890341147b7f0240e3ad,
    256'h8f0140a6e32700007fffff07000000003f8000003f3913b33f1007ab3ee1a4b8,
    256'h3ead033a3e7c04dd3e24cae33da2faff00000000bdba7871be3d353fbe91a24d,
    256'hbeca32a0bf066b30bf3239b1bf80000000000001200031800010000000000043};
  localparam format_t LNS8_3 = {
    208'h40ff8000013fc36102e33ec34e56143dc33d360f3cc32d81e63b,
    256'hc31f1b643ac311e6da39c305cae238c2f5606437c2e102e336c2ce561435c2bd,
    256'h360f34c2ad81e633c29f1b6432c291e6da31c285cae230c27560642fc26102e3,
    256'h2ec24e56142dc23d360f2cc22d81e62bc21f1b642ac211e6da29c205cae228c1,
    256'hf5606427c1e102e326c1ce561425c1bd360f24c1ad81e623c19f1b6422c191e6,
    256'hda21c185cae220c17560641fc16102e31ec14e56141dc13d360f1cc12d81e61b,
    256'hc11f1b641ac111e6da19c105cae218c0f5606417c0e102e316c0ce561415c0bd,
    256'h360f14c0ad81e613c09f1b6412c091e6da11c085cae210c07560640fc06102e3,
    256'h0ec04e56140dc03d360f0cc02d81e60bc01f1b640ac011e6da09c005cae208bf,
    256'hf5606407bfe102e306bfce561405bfbd360f04bfad81e603bf9f1b6402bf91e6,
    256'hda01bf85cae200bf7560647fbf6102e37ebf4e56147dbf3d360f7cbf2d81e67b,
    256'hbf1f1b647abf11e6da79bf05cae278bef5606477bee102e376bece561475bebd,
    256'h360f74bead81e673be9f1b6472be91e6da71be85cae270be7560646fbe6102e3,
    256'h6ebe4e56146dbe3d360f6cbe2d81e66bbe1f1b646abe11e6da69be05cae268bd,
    256'hf5606467bde102e366bdce561465bdbd360f64bdad81e663bd9f1b6462bd91e6,
    256'hda61bd85cae260bd7560645fbd6102e35ebd4e56145dbd3d360f5cbd2d81e65b,
    256'hbd1f1b645abd11e6da59bd05cae258bcf5606457bce102e356bcce561455bcbd,
    256'h360f54bcad81e653bc9f1b6452bc91e6da51bc85cae250bc7560644fbc6102e3,
    256'h4ebc4e56144dbc3d360f4cbc2d81e64bbc1f1b644abc11e6da49bc05cae248bb,
    256'hf5606447bbe102e346bbce561445bbbd360f44bbad81e643bb9f1b6442bb91e6,
    256'hda41bb0b95c34044ffffffc0447a351ec1446e1926c24460e49cc344527e1ac4,
    256'h4442c9f1c54431a9ecc6441efd1dc7440a9f9cc843fa351ec943ee1926ca43e0,
    256'he49ccb43d27e1acc43c2c9f1cd43b1a9ecce439efd1dcf438a9f9cd0437a351e,
    256'hd1436e1926d24360e49cd343527e1ad44342c9f1d54331a9ecd6431efd1dd743,
    256'h0a9f9cd842fa351ed942ee1926da42e0e49cdb42d27e1adc42c2c9f1dd42b1a9,
    256'hecde429efd1ddf428a9f9ce0427a351ee1426e1926e24260e49ce342527e1ae4,
    256'h4242c9f1e54231a9ece6421efd1de7420a9f9ce841fa351ee941ee1926ea41e0,
    256'he49ceb41d27e1aec41c2c9f1ed41b1a9ecee419efd1def418a9f9cf0417a351e,
    256'hf1416e1926f24160e49cf341527e1af44142c9f1f54131a9ecf6411efd1df741,
    256'h0a9f9cf840fa351ef940ee1926fa40e0e49cfb40d27e1afc40c2c9f1fd40b1a9,
    256'hecfe409efd1dff408a9f9c80407a351e81406e1926824060e49c8340527e1a84,
    256'h4042c9f1854031a9ec86401efd1d87400a9f9c883ffa351e893fee19268a3fe0,
    256'he49c8b3fd27e1a8c3fc2c9f18d3fb1a9ec8e3f9efd1d8f3f8a9f9c903f7a351e,
    256'h913f6e1926923f60e49c933f527e1a943f42c9f1953f31a9ec963f1efd1d973f,
    256'h0a9f9c983efa351e993eee19269a3ee0e49c9b3ed27e1a9c3ec2c9f19d3eb1a9,
    256'hec9e3e9efd1d9f3e8a9f9ca03e7a351ea13e6e1926a23e60e49ca33e527e1aa4,
    256'h3e42c9f1a53e31a9eca63e1efd1da73e0a9f9ca83dfa351ea93dee1926aa3de0,
    256'he49cab3dd27e1aac3dc2c9f1ad3db1a9ecae3d9efd1daf3d8a9f9cb03d7a351e,
    256'hb13d6e1926b23d60e49cb33d527e1ab43d42c9f1b53d31a9ecb63d1efd1db73d,
    256'h0a9f9cb83cfa351eb93cee1926ba3ce0e49cbb3cd27e1abc3cc2c9f1bd3cb1a9,
    256'hecbe3c9efd1dbf007fffff4000000000bf6ac0c7bf5744fdbf45672abf3504f3,
    256'hbf25fed7bf1837f0bf0b95c2bf000000beeac0c7bed744fdbec5672abeb504f3,
    256'hbea5fed7be9837f0be8b95c2be800000be6ac0c7be5744fdbe45672abe3504f3,
    256'hbe25fed7be1837f0be0b95c2be000000bdeac0c7bdd744fdbdc5672abdb504f3,
    256'hbda5fed7bd9837f0bd8b95c2bd800000bd6ac0c7bd5744fdbd45672abd3504f3,
    256'hbd25fed7bd1837f0bd0b95c2bd000000bceac0c7bcd744fdbcc5672abcb504f3,
    256'hbca5fed7bc9837f0bc8b95c2bc800000bc6ac0c7bc5744fdbc45672abc3504f3,
    256'hbc25fed7bc1837f0bc0b95c2bc000000bbeac0c7bbd744fdbbc5672abbb504f3,
    256'hbba5fed7bb9837f0bb8b95c2bb800000c36ac0c7c35744fdc345672ac33504f3,
    256'hc325fed7c31837f0c30b95c2c3000000c2eac0c7c2d744fdc2c5672ac2b504f3,
    256'hc2a5fed7c29837f0c28b95c2c2800000c26ac0c7c25744fdc245672ac23504f3,
    256'hc225fed7c21837f0c20b95c2c2000000c1eac0c7c1d744fdc1c5672ac1b504f3,
    256'hc1a5fed7c19837f0c18b95c2c1800000c16ac0c7c15744fdc145672ac13504f3,
    256'hc125fed7c11837f0c10b95c2c1000000c0eac0c7c0d744fdc0c5672ac0b504f3,
    256'hc0a5fed7c09837f0c08b95c2c0800000c06ac0c7c05744fdc045672ac03504f3,
    256'hc025fed7c01837f0c00b95c2c0000000bfeac0c7bfd744fdbfc5672abfb504f3,
    256'hbfa5fed7bf9837f0bf8b95c2bf8000003f6ac0c73f5744fd3f45672a3f3504f3,
    256'h3f25fed73f1837f03f0b95c23f0000003eeac0c73ed744fd3ec5672a3eb504f3,
    256'h3ea5fed73e9837f03e8b95c23e8000003e6ac0c73e5744fd3e45672a3e3504f3,
    256'h3e25fed73e1837f03e0b95c23e0000003deac0c73dd744fd3dc5672a3db504f3,
    256'h3da5fed73d9837f03d8b95c23d8000003d6ac0c73d5744fd3d45672a3d3504f3,
    256'h3d25fed73d1837f03d0b95c23d0000003ceac0c73cd744fd3cc5672a3cb504f3,
    256'h3ca5fed73c9837f03c8b95c23c8000003c6ac0c73c5744fd3c45672a3c3504f3,
    256'h3c25fed73c1837f03c0b95c23c0000003beac0c73bd744fd3bc5672a3bb504f3,
    256'h3ba5fed73b9837f03b8b95c200000000436ac0c7435744fd4345672a433504f3,
    256'h4325fed7431837f0430b95c24300000042eac0c742d744fd42c5672a42b504f3,
    256'h42a5fed7429837f0428b95c242800000426ac0c7425744fd4245672a423504f3,
    256'h4225fed7421837f0420b95c24200000041eac0c741d744fd41c5672a41b504f3,
    256'h41a5fed7419837f0418b95c241800000416ac0c7415744fd4145672a413504f3,
    256'h4125fed7411837f0410b95c24100000040eac0c740d744fd40c5672a40b504f3,
    256'h40a5fed7409837f0408b95c240800000406ac0c7405744fd4045672a403504f3,
    256'h4025fed7401837f0400b95c2400000003feac0c73fd744fd3fc5672a3fb504f3,
    256'h3fa5fed73f9837f03f8b95c23f80000000000010200041800010000000000083};

  // By index, in the order above.
  localparam int COUNT = 48;
  function automatic format_t format_of(input int index);
    case (index)
      0: format_of = INT2;
      1: format_of = INT3;
      2: format_of = INT4;
      3: format_of = INT5;
      4: format_of = INT6;
      5: format_of = INT7;
      6: format_of = INT8;
      7: format_of = INT16;
      8: format_of = INT32;
      9: format_of = UINT1;
      10: format_of = UINT2;
      11: format_of = UINT3;
      12: format_of = UINT4;
      13: format_of = UINT5;
      14: format_of = UINT6;
      15: format_of = UINT7;
      16: format_of = UINT8;
      17: format_of = UINT16;
      18: format_of = TERNARY;
      19: format_of = BINARY;
      20: format_of = FIXED8_4;
      21: format_of = FIXED8_6;
      22: format_of = FIXED16_8;
      23: format_of = FP32;
      24: format_of = TF32;
      25: format_of = FP16;
      26: format_of = BF16;
      27: format_of = E4M3;
      28: format_of = E5M2;
      29: format_of = E4M3_IEEE;
      30: format_of = E4M3_FNUZ;
      31: format_of = E5M2_FNUZ;
      32: format_of = E3M2;
      33: format_of = E2M3;
      34: format_of = E2M1;
      35: format_of = E8M0;
      36: format_of = UE5M3;
      37: format_of = POSIT4_0;
      38: format_of = POSIT6_0;
      39: format_of = POSIT6_1;
      40: format_of = POSIT8_0;
      41: format_of = POSIT8_1;
      42: format_of = POSIT8_2;
      43: format_of = POSIT16_1;
      44: format_of = POSIT16_2;
      45: format_of = POSIT32_2;
      46: format_of = NF4;
      47: format_of = LNS8_3;
      default: format_of = INT2;
    endcase
  endfunction

endpackage
