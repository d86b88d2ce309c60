module broken;
endmodule
