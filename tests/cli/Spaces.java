// Fills the Java heap with known amounts, and says what the virtual machine's own accounts have: bytes in
// use of the old generation, after a collection that left nothing in the young one.
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

public class Spaces {
    static final List<Object> kept = new ArrayList<>();

    public static void main(String[] arguments) {
        for (int i = 0; i < 10000; i++) kept.add(new byte[1000]);
        kept.add(new byte[3 << 20]);
        ByteBuffer direct = ByteBuffer.allocateDirect(5 << 20);
        for (int at = 0; at < direct.capacity(); at += 4096) direct.put(at, (byte) 1);
        kept.add(direct);
        System.gc();
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans())
            if (pool.getName().matches(".*(Old Gen|Tenured Gen)"))
                System.out.println("old " + pool.getUsage().getUsed());
    }
}
