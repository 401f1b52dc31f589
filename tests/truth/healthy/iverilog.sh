# truth: healthy
# what: iverilog compiles and vvp simulates
# needs: iverilog vvp
cat >t.v <<'X'
module t; reg [31:0] m[0:1023]; reg clk=0; integer i, n=0; always #1 clk=~clk;
always @(posedge clk) begin for(i=0;i<64;i=i+1) m[(n+i)%1024] <= m[(n+i)%1024]+i+n; n=n+1; if(n>5000) $finish; end
initial for(i=0;i<1024;i=i+1) m[i]=i; endmodule
X
record iverilog -o t.vvp t.v
record vvp t.vvp
